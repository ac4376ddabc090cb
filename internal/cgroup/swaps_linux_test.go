package cgroup

import "testing"

// What was found out once is what a new look finds, before and after it is closed.
func TestHostSwaps(t *testing.T) {
	var table swapTable
	for range 3 {
		for range 2 {
			if got, want := table.swaps(), hostSwaps(); got != want {
				t.Errorf("%t, want %t", got, want)
			}
		}
		table.close()
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
