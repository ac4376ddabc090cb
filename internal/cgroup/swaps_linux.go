package cgroup

import (
	"strings"
	"sync"
	"time"
)

// swapTable knows whether the host has anything to swap to. It is asked several
// times for every box, and reads the kernel's table once in a while.
type swapTable struct {
	mu   sync.Mutex
	when time.Time
	any  bool
}

// swapAge is how old an answer may be.
const swapAge = time.Second

// hostSwaps reads the table.
func hostSwaps() bool {
	text, err := read("/proc/swaps")
	return err != nil || strings.Count(strings.TrimSpace(text), "\n") > 0
}

func (t *swapTable) swaps() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := time.Now(); now.Sub(t.when) > swapAge {
		t.when, t.any = now, hostSwaps()
	}
	return t.any
}
