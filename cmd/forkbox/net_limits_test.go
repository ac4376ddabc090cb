//go:build linux

package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// TestNetConnections: no more at once than the limit says, whatever becomes of
// the others, and what is closed makes room.
func TestNetConnections(t *testing.T) {
	t.Parallel()
	w := newNetWorld(t)
	host := w.name("host")
	box := w.makeBox("few", "--allow", host, "--connections", "5")
	held := w.holds(box, host+":7", 8)
	if got := held.line(); !strings.HasPrefix(got, "open 5 ") || !strings.Contains(got, "ECONN") {
		t.Errorf("with a limit of 5 it says %s", got)
	}
	w.recorded(box, want{state: forkbox.ConnRefused, host: host, port: 7, why: "5"})
	other := w.makeBox("other", "--allow", host)
	w.works(other, w.inside("dial", "tcp", host+":7")...)
	w.must("set", box, "--connections", "7")
	more := w.holds(box, host+":7", 8)
	if got := more.line(); !strings.HasPrefix(got, "open 2 ") {
		t.Errorf("with a limit of 7 there are 2 more: %s", got)
	}
	held.goOn()
	if got := held.line(); got != "ok alive 5" {
		t.Errorf("those that were there: %s", got)
	}
	w.ok(held.wait())
	w.until("there is room again", func() bool {
		_, err := w.in(box, w.inside("dial", "tcp", host+":7")...)
		return err == nil
	})
}

// TestNetBandwidth counts bytes: no more can have come than the rate allows for
// the time that was really taken, and what is held back for a moment.
func TestNetBandwidth(t *testing.T) {
	t.Parallel()
	w := newNetWorld(t)
	host := w.name("host")
	const rate = 1 << 20
	box := w.makeBox("slow", "--allow", host, "--bandwidth", "1m")
	for _, way := range []string{"down", "up"} {
		var got int64
		var took float64
		out := w.works(box, w.inside("rate", way, "http://"+host+"/bytes?n=1000000000", "3")...)
		if _, err := fmt.Sscanf(out, "ok %d bytes in %f s", &got, &took); err != nil {
			t.Fatalf("%s: %s", way, out)
		}
		// What lies in buffers on the way up has left the program already.
		if most := int64(rate*(took+1)) + 6<<20; got > most || got < rate/4 {
			t.Errorf("%s: %d bytes in %.1f s with %d each second", way, got, took, rate)
		}
	}
	down := w.recorded(box, want{host: host, port: 80, method: "", state: forkbox.ConnClosed})
	if most := int64(rate * (down.Lasted.Seconds() + 2)); down.In > most || down.In == 0 {
		t.Errorf("the record says %d bytes in %s", down.In, down.Lasted)
	}
	w.must("set", box, "--bandwidth", "unlimited")
	w.works(box, sh(`test $(curl -sSf "http://$1/bytes?n=50000000" | wc -c) = 50000000`, host)...)
}

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
	w.recorded(box, want{state: forkbox.ConnRefused, addr: w.Canary4, port: 80})
	if n := len(w.conns(box)); n > 20000 {
		t.Errorf("there are %d records", n)
	}
	w.must("stop", box)
	w.works(box, w.inside("dial", "tcp", host+":7")...)
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
