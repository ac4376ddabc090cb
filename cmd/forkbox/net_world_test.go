//go:build linux

package main

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/forkbox/forkbox"
)

// netWorld is a forkbox whose daemon lives on the host of the outside world,
// and addresses and names out there that are this test's alone.
type netWorld struct {
	*limitWorld
	*theOutside
	worldAddrs
	domain string
}

// newNetWorld has more lines of the network: section of its daemon's
// configuration, in which DOMAIN is the test's.
func newNetWorld(t *testing.T, network ...string) *netWorld {
	t.Helper()
	w := lookOutside(t)
	w.world = makeWorld(t, "", "reality")
	w.start = w.startOnHost
	t.Cleanup(w.end)
	lines := append([]string{"dns: [" + dnsAddr + "]"}, network...)
	config := calm + "network:\n  " + strings.ReplaceAll(strings.Join(lines, "\n  "), "DOMAIN", w.domain) + "\n"
	w.configure(config)
	w.serve()
	return w
}

// lookOutside is the world without a forkbox.
func lookOutside(t *testing.T) *netWorld {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w := &netWorld{theOutside: findOutside(t), limitWorld: &limitWorld{served: served{world: world{T: t}}, self: self}}
	w.tell("POST", "/addrs", nil, &w.worldAddrs)
	w.domain = strings.ReplaceAll(w.Server4, ".", "-") + ".example"
	return w
}

// as is the same world for a test within the test.
func (w *netWorld) as(t *testing.T) *netWorld {
	same := *w
	same.limitWorld = w.limitWorld.as(t)
	return &same
}

// startOnHost starts the daemon on the world's host, which trusts the world's
// authority as it would the system's.
func (w *netWorld) startOnHost(t *testing.T, daemon *exec.Cmd) (err error) {
	daemon.Env = append(daemon.Env, "SSL_CERT_FILE="+w.outsideFile("ca.pem"))
	w.onHost(t, func() { err = daemon.Start() })
	return err
}

// name gives a name of this test's to addresses, and returns it in full.
func (w *netWorld) name(short string, addrs ...string) string {
	w.Helper()
	if len(addrs) == 0 {
		addrs = []string{w.Server4, w.Server6}
	}
	return w.names(short, addrs)
}

// names has a name stand for other addresses each time that it is asked for.
// What is no address is another record.
func (w *netWorld) names(short string, turns ...[]string) string {
	w.Helper()
	full := short + "." + w.domain
	var sets [][]string
	for _, turn := range turns {
		var set []string
		for _, addr := range turn {
			set = append(set, recordOf(addr))
		}
		sets = append(sets, set)
	}
	w.tell("POST", "/names", map[string][][]string{full: sets}, nil)
	return full
}

func recordOf(addr string) string {
	switch {
	case strings.Contains(addr, " "):
		return "1 " + addr
	case strings.Contains(addr, ":"):
		return "1 AAAA " + addr
	}
	return "1 A " + addr
}

// box makes one that reaches nothing but what flags allow.
func (w *netWorld) makeBox(name string, flags ...string) string {
	w.Helper()
	args := append([]string{"new", "--name", name, "--net", "policy", "--net-preset", "locked"}, flags...)
	w.must(args...)
	return name
}

// in is a command in a box. What it says on both stdout and stderr counts.
func (w *netWorld) in(box string, argv ...string) (string, error) {
	cmd := w.command(append([]string{"exec", box, "--"}, argv...)...)
	out, err := combined(cmd)
	return strings.TrimSpace(out), err
}

// works runs a command in a box that has to succeed.
func (w *netWorld) works(box string, argv ...string) string {
	w.Helper()
	out, err := w.in(box, argv...)
	if err != nil {
		w.Fatalf("in box %s %q: %v\n%s\n%s\n%s", box, argv, err, out, w.conns(box).last(), w.log())
	}
	return out
}

// fails runs one that has to fail, and says what it said.
func (w *netWorld) failsIn(box string, argv ...string) string {
	w.Helper()
	out, err := w.in(box, argv...)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signaled() {
		w.Errorf("in box %s %q should have failed by itself: %v\n%s\n%s", box, argv, err, out, w.conns(box).last())
	}
	return out
}

// inside is a command line of the test binary as a program in a box.
func (w *netWorld) inside(args ...string) []string {
	return append([]string{w.self, netInsideArg}, args...)
}

// sh is one of a shell.
func sh(script string, args ...string) []string {
	return append([]string{"sh", "-ec", script, "sh"}, args...)
}

// connLog is the attempts of a box to reach something.
type connLog []forkbox.Conn
