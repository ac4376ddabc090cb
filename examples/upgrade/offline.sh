#!/bin/sh
# Runs go with the proxy that pack made as all there is of the world.
export GOPROXY=file:///tmp/upgrade-example/proxy GOMODCACHE=/tmp/upgrade-example/modules
export GOSUMDB=off GOTOOLCHAIN=local GOFLAGS=-mod=mod\ -modcacherw GOWORK=off
exec go "$@"
