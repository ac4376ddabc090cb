//go:build linux

package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// TestLimitsReserve has a box that has no limit of its own meet the one of
// all together: the host keeps its memory.
func TestLimitsReserve(t *testing.T) {
	total, available := hostMemory(t)
	// What the host has in use now, and a little more.
	kept := available - min(available/4, 256*mib)
	w := newLimitWorld(t, calm+fmt.Sprintf("reserve: {memory: %d}\n", kept))
	w.needs(forkbox.Memory, forkbox.Swap)
	box := w.create("greedy", "swap=0").ID
	done, out := w.run(box, "", "memory", fmt.Sprint(total-kept+64*mib))
	if e := done.Exit; e.Cause != forkbox.CauseOOM || e.Code != 137 || strings.Contains(out, "has it all") {
		t.Errorf("it was to be killed for the host's reserve, but: %+v\n%s", *e, out)
	}
	w.does(box, "worker", "1")
}

// hostMemory is all there is, and what could be used now.
func hostMemory(t *testing.T) (total, available int64) {
	t.Helper()
	raw, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		_, _ = fmt.Sscanf(line, "MemTotal: %d kB", &total)
		_, _ = fmt.Sscanf(line, "MemAvailable: %d kB", &available)
	}
	return total << 10, available << 10
}
