package cgroup

import (
	"testing"
	"time"
)

// What was found out is believed for a while, and not for longer.
func TestHostSwaps(t *testing.T) {
	real := hostSwaps()
	table := swapTable{when: time.Now().Add(time.Hour), any: !real}
	if table.swaps() == real {
		t.Error("it looks each time")
	}
	table.when = time.Now().Add(-2 * swapAge)
	if table.swaps() != real {
		t.Error("it never looks again")
	}
}

// Holds gives the same answer until boxes are kept elsewhere.
func TestHoldsIsRemembered(t *testing.T) {
	h := openHost(t)
	before := len(h.Holds())
	if before != len(resources) || h.held == nil {
		t.Errorf("%d of %d", before, len(resources))
	}
	h.SetIOPaths([]string{"/proc"})
	if h.held != nil {
		t.Error("it is remembered although the disks are others")
	}
	for r, how := range h.Holds() {
		if got := h.holding(r, hostSwaps()); got != how {
			t.Errorf("%s: %+v, want %+v", r, how, got)
		}
	}
}
