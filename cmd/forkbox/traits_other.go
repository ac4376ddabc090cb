//go:build !linux

package main

import "github.com/forkbox/forkbox"

// callerTraits: they mean something on Linux only.
func callerTraits() *forkbox.Traits { return nil }
