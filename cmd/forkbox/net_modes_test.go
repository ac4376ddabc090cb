//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// TestNetModes: none has its loopback, host shares the host's and says so.
func TestNetModes(t *testing.T) {
	t.Parallel()
	w := newNetWorld(t)
	w.onHost(t, func() { w.listens("tcp", "127.0.0.1:7901") })
	w.must("new", "--name", "none", "--net", "none")
	loop := `/usr/bin/python3 -c "
import socket
s = socket.create_server(('127.0.0.1', 7902)); c = socket.create_connection(('127.0.0.1', 7902)); print('looped')"`
	for _, box := range []string{"none", w.makeBox("policy")} {
		if out := w.works(box, sh(loop)...); out != "looped" {
			t.Errorf("the loopback of %s: %s", box, out)
		}
		w.failsIn(box, w.inside("dial", "tcp", "127.0.0.1:7901")...)
	}
	w.failsIn("none", w.inside("dial", "tcp", w.Canary4+":80")...)
	w.silent(w.Canary4)
	_, said, code := w.cli("new", "--name", "shared", "--net", "host")
	if code != 0 || !strings.Contains(said, "shares the host's network") {
		t.Errorf("--net host does not warn: %d %s", code, said)
	}
	w.works("shared", w.inside("dial", "tcp", "127.0.0.1:7901")...)
}

// TestNetDefault is what a box has if the user says nothing: the registries that
// this machine's tools use, and nothing more.
func TestNetDefault(t *testing.T) {
	t.Parallel()
	w := newNetWorld(t)
	registry, other := w.name("registry"), w.name("other")
	w.ok(os.WriteFile(filepath.Join(w.root, ".npmrc"), []byte("registry=http://"+registry+":8080/\n"), 0o644))
	w.must("new", "--name", "plain")
	w.works("plain", w.inside("get", "http://"+registry+":8080/")...)
	w.failsIn("plain", w.inside("dial", "tcp", other+":443")...)
	c := w.recorded("plain", want{host: registry, port: 8080, state: forkbox.ConnClosed})
	if !strings.Contains(c.Rule.From, "balanced") || !strings.Contains(c.Rule.From, ".npmrc") {
		t.Errorf("the rule is from %q", c.Rule.From)
	}
	w.recorded("plain", want{host: other, port: 443, state: forkbox.ConnRefused})
}

// TestNetPresets: open reaches every public address and no other, locked none.
func TestNetPresets(t *testing.T) {
	t.Parallel()
	w := newNetWorld(t)
	host := w.name("host")
	w.must("new", "--name", "open", "--net-preset", "open")
	w.works("open", w.inside("dial", "tcp", host+":80")...)
	w.works("open", w.inside("dial", "tcp", w.Server4+":80")...)
	for _, addr := range []string{w.Private, metadata, hostAddr4, "198.18.0.1"} {
		w.failsIn("open", w.inside("dial", "tcp", addr+":80")...)
		w.recorded("open", want{state: forkbox.ConnRefused, addr: addr, port: 80})
	}
	w.failsIn(w.makeBox("locked"), w.inside("dial", "tcp", host+":443")...)
	w.silent(w.Private, metadata)
}

// TestNetPrivate: what is special can be named, except by a name alone.
func TestNetPrivate(t *testing.T) {
	t.Parallel()
	w := newNetWorld(t)
	inner := w.name("inner", w.Private)
	for name, rule := range map[string]string{"range": "10.0.0.0/8:80", "word": inner + ":80 private"} {
		box := w.makeBox(name, "--allow", rule)
		to := map[string]string{"range": w.Private, "word": inner}[name]
		w.works(box, w.inside("get", "http://"+to+"/")...)
	}
	w.failsIn(w.makeBox("byname", "--allow", inner), w.inside("dial", "tcp", inner+":443")...)
	w.failsIn(w.makeBox("byall", "--allow", "0.0.0.0/0"), w.inside("dial", "tcp", w.Private+":80")...)
	w.works(w.makeBox("meta", "--allow", metadata2+":80"), w.inside("get", "http://"+metadata2+"/latest/meta-data/x")...)
}

// TestNetFloor: the host's own list can only narrow.
func TestNetFloor(t *testing.T) {
	t.Parallel()
	w := newNetWorld(t, `floor: {rules: ["deny evil.DOMAIN", "deny `+metadata+`/32", "allow *", "allow 203.0.113.0/24"]}`)
	evil, good := w.name("evil"), w.name("good")
	w.must("new", "--name", "floored", "--net-preset", "open", "--allow", metadata, "--allow", evil, "--allow", w.Canary4)
	w.works("floored", w.inside("dial", "tcp", good+":80")...)
	for what, x := range map[string]want{
		evil + ":22": {host: evil}, metadata + ":22": {addr: metadata}, w.Canary4 + ":22": {addr: w.Canary4},
	} {
		w.failsIn("floored", w.inside("dial", "tcp", what)...)
		x.state, x.port = forkbox.ConnRefused, 22
		if c := w.recorded("floored", x); !strings.Contains(c.Remedy, "config") {
			t.Errorf("the remedy for %s is %q", what, c.Remedy)
		}
	}
	w.silent(metadata, w.Canary4)
	w.failsIn("floored", w.inside("dial", "tcp", evil+":443")...)
	w.must("net", "allow", "floored", evil)
	w.failsIn("floored", w.inside("dial", "tcp", evil+":443")...)
	if asked := w.asked(evil); len(asked) > 0 {
		t.Errorf("the world's name server was asked: %v", asked)
	}
}

// TestNetProject: a project's file allows hosts, and cannot open what is the
// host's or a secret: the repository's author is not the user who runs it.
func TestNetProject(t *testing.T) {
	t.Parallel()
	w := newNetWorld(t)
	host := w.name("host")
	project := func(text string) { w.ok(os.WriteFile(filepath.Join(w.root, "forkbox.yaml"), []byte(text), 0o644)) }
	project("network: {preset: locked, rules: [\"allow " + host + ":80\"]}\n")
	w.must("new", "--name", "mine")
	w.works("mine", w.inside("dial", "tcp", host+":80")...)
	if c := w.recorded("mine", want{host: host, port: 80}); !strings.HasPrefix(c.Rule.From, "project ") {
		t.Errorf("the rule is from %q", c.Rule.From)
	}
	w.failsIn("mine", w.inside("dial", "tcp", host+":443")...)
	for text, word := range map[string]string{
		"network: {host-ports: [5432]}\n":                      "host-port",
		"network: {secrets: [TOKEN]}\n":                        "secret",
		"network: {rules: [\"allow 10.0.0.0/8\"]}\n":           "10.0.0.0/8",
		"network: {rules: [\"allow " + host + " private\"]}\n": "private",
		"network: {net: host}\n":                               "host",
		"network: {rules: [\"allow evil host name\"]}\n":       "forkbox.yaml",
		"network: {rulez: []}\n":                               "rulez",
		"network: {rules: [\"allow 169.254.169.254:80\"]}\n":   "169.254",
		"network: {terminate: [\"a b\"]}\n":                    "a b",
	} {
		project(text)
		w.refused([]string{word}, "new", "--name", "bad")
	}
}
