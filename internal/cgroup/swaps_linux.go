package cgroup

import (
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// swapTable knows whether the host has anything to swap to. It reads the
// kernel's table again only when poll says that it has changed.
type swapTable struct {
	mu   sync.Mutex
	open bool
	fd   int
	any  bool
}

const swapFile = "/proc/swaps"

// hostSwaps reads the table.
func hostSwaps() bool {
	text, err := read(swapFile)
	return err != nil || strings.Count(strings.TrimSpace(text), "\n") > 0
}

func (t *swapTable) swaps() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.open {
		// First: what changes after this is reported.
		fd, err := open(swapFile, unix.O_RDONLY)
		t.open, t.fd, t.any = err == nil, fd, hostSwaps()
		return t.any
	}
	if n, err := unix.Poll([]unix.PollFd{{Fd: int32(t.fd), Events: unix.POLLPRI}}, 0); n > 0 || err != nil {
		t.any = hostSwaps()
	}
	return t.any
}

func (t *swapTable) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open {
		unix.Close(t.fd)
	}
	t.open = false
}
