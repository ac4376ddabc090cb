//go:build linux

package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// TestPromise8HalfOpen begins 100 000 connections that are never finished, to
// what is allowed and never answers, and to what is not. The daemon's memory and
// its record stay bounded, and others are served as before.
func TestPromise8HalfOpen(t *testing.T) {
	t.Parallel()
	w := newNetWorld(t)
	host := w.name("host")
	box := w.makeBox("flooder", "--allow", nowhere, "--allow", host)
	quiet := w.makeBox("quiet", "--allow", host)
	w.works(quiet, w.inside("dial", "tcp", host+":7")...)
	kept := w.holds(quiet, host+":7", 3)
	kept.line()
	before := w.memory("VmRSS")
	for _, to := range []string{nowhere, w.Canary4} {
		flood := w.begins(append([]string{"exec", box, "--"}, w.inside("half-open", to, "80", "100000")...)...)
		w.works(quiet, w.inside("say", "tcp", host+":7", "while it goes on")...)
		t.Logf("to %s: %s", to, flood.line())
		w.works(quiet, w.inside("say", "tcp", host+":7", "after")...)
	}
	w.silent(w.Canary4)
	const most = 192 << 10 // KiB
	if grown := w.memory("VmHWM") - before; grown > most {
		t.Errorf("the daemon's memory grew by %d KiB", grown)
	} else {
		t.Logf("the daemon's memory grew by %d KiB at most", grown)
	}
	kept.goOn()
	if got := kept.line(); got != "ok alive 3" {
		t.Errorf("the connections of another box: %s", got)
	}
	// Not each port: of too many that differ, some are told together.
	w.recorded(box, want{state: forkbox.ConnRefused, addr: w.Canary4})
	if n := len(w.conns(box)); n > 20000 {
		t.Errorf("there are %d records", n)
	}
	w.must("stop", box)
	w.works(box, w.inside("dial", "tcp", host+":7")...)
}

// TestPromise8NoRoom: while a box has begun as many connections as may be under
// way, what it may not reach is refused all the same, and on record.
func TestPromise8NoRoom(t *testing.T) {
	t.Parallel()
	w := newNetWorld(t)
	box := w.makeBox("busy", "--allow", nowhere)
	begun := w.begins(append([]string{"exec", "-i", box, "--"}, w.inside("begin", nowhere, "1000", "5000")...)...)
	begun.line()
	out := w.failsIn(box, w.inside("dial", "tcp", w.Canary4+":80")...)
	if !strings.Contains(out, "ECONNREFUSED") {
		t.Errorf("it was not refused: %s", out)
	}
	w.silent(w.Canary4)
	w.recorded(box, want{state: forkbox.ConnRefused, addr: w.Canary4, port: 80})
	w.recorded(box, want{addr: nowhere})
}

// memory is a line of the daemon's status, in KiB.
func (w *netWorld) memory(line string) int {
	w.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", w.daemon.Process.Pid))
	w.ok(err)
	for _, l := range strings.Split(string(text), "\n") {
		var kib int
		if n, _ := fmt.Sscanf(l, line+": %d kB", &kib); n == 1 {
			return kib
		}
	}
	w.Fatalf("no %s in %s", line, text)
	return 0
}

// TestNetRefusedInABurst: a program that tries again and again is refused each
// time, and does not fill the record.
func TestNetRefusedInABurst(t *testing.T) {
	t.Parallel()
	w := newNetWorld(t)
	box := w.makeBox("stubborn")
	out := w.works(box, w.inside("flood", w.Canary4+":80", "5000")...)
	if out != "ok map[ECONNREFUSED:5000]" {
		t.Errorf("it was told %s", out)
	}
	w.silent(w.Canary4)
	w.until("all are counted", func() bool {
		times := 0
		for _, c := range w.conns(box) {
			times += max(1, c.Times)
		}
		return times == 5000
	})
	if n := len(w.conns(box)); n > 1000 {
		t.Errorf("there are %d records of 5000 alike", n)
	}
}
