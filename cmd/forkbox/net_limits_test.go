//go:build linux

package main

import (
	"fmt"
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
		if most := int64(rate*(took+1)) + 6<<20; got > most || got == 0 {
			t.Errorf("%s: %d bytes in %.1f s with %d each second", way, got, took, rate)
		}
	}
	down := w.recorded(box, want{host: host, port: 80, method: "", state: forkbox.ConnClosed})
	if most := int64(rate * (down.Lasted.Seconds() + 2)); down.In > most || down.In == 0 {
		t.Errorf("the record says %d bytes in %s", down.In, down.Lasted)
	}
	w.works(box, sh(`test $(curl -sSf "http://$1/bytes?n=3000000" | wc -c) = 3000000`, host)...) // slowly, but all of it
	w.must("set", box, "--bandwidth", "unlimited")
	w.works(box, sh(`test $(curl -sSf "http://$1/bytes?n=50000000" | wc -c) = 50000000`, host)...)
}
