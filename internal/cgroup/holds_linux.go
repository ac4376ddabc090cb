package cgroup

import (
	"errors"
	"fmt"
	"strings"

	"github.com/forkbox/forkbox"
)

// resources are those that groups can limit.
var resources = forkbox.ResourcesHeldBy(forkbox.HeldByGroup)

// Holds says how each limit is held here. The caller may not change what it
// returns: it is asked several times for every box, and the answer is the same
// until the host gets or loses swap, or boxes are kept elsewhere.
func (h *Host) Holds() map[forkbox.Resource]forkbox.Holding {
	swaps := h.swap.swaps()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.held == nil || h.heldSwaps != swaps {
		h.held, h.heldSwaps = map[forkbox.Resource]forkbox.Holding{}, swaps
		for _, r := range resources {
			h.held[r] = h.holding(r, swaps)
		}
	}
	return h.held
}

// NotHeld is what holds where Open failed: nothing.
func NotHeld(err error) map[forkbox.Resource]forkbox.Holding {
	holding := forkbox.Holding{How: forkbox.NotEnforced, Why: err.Error()}
	var e *forkbox.Error
	if errors.As(err, &e) {
		holding.Why, holding.Hint = e.Why, strings.Join(e.Hints, "; ")
	}
	all := map[forkbox.Resource]forkbox.Holding{}
	for _, r := range resources {
		all[r] = holding
	}
	return all
}

func (h *Host) holding(r forkbox.Resource, swaps bool) forkbox.Holding {
	file, c := h.kernel.knob(r)
	no := forkbox.Holding{How: forkbox.NotEnforced}
	switch {
	case r == forkbox.Swap && !swaps:
		return forkbox.Holding{How: forkbox.Enforced, Why: "the host has no swap"}
	case h.root().dir(c) == "":
		no.Why, no.Hint = h.whyNot(c)
		return no
	case r == forkbox.Swap && !h.files[file]:
		no.Why, no.Hint = "the kernel does not count swap by group", "boot with swapaccount=1"
		return no
	case !h.files[file]:
		no.Why = fmt.Sprintf("the kernel was built without what has %s", file)
		return no
	case c == disk:
		return h.holdingIO(r)
	}
	return forkbox.Holding{How: forkbox.Enforced}
}

func (h *Host) whyNot(c controller) (why, hint string) {
	why = h.why[c]
	if why == "" {
		return fmt.Sprintf("the cgroup controller %s is not mounted", c), "mount it, or boot with cgroup version 2"
	}
	if h.kernel.version() == 2 {
		return why, "start the daemon in a group of your own: " + ownScope + ", or have your administrator delegate " + string(c) + " to user@.service"
	}
	return why, "run forkbox as root, or have a group made that is yours and start forkbox in it"
}

// holdingIO: writes are counted when they go to the disk, long after the
// process wrote to memory. Only version 2 knows then whose they were, and only
// on some filesystems.
func (h *Host) holdingIO(r forkbox.Resource) forkbox.Holding {
	no := forkbox.Holding{How: forkbox.NotEnforced}
	writes := r == forkbox.WriteBytes || r == forkbox.WriteOps
	switch {
	case h.disks.why != "":
		no.Why = h.disks.why
	case writes && h.kernel.version() == 1:
		no.Why, no.Hint = "cgroup version 1 does not slow writes that go through memory", "boot with cgroup version 2"
	case writes && h.root().dir(memory) == "":
		no.Why, no.Hint = "without the memory controller the kernel does not know whose a write was", "enable it: "+ownScope
	case writes && h.disks.unowned != "":
		no.Why, no.Hint = h.disks.unowned, "have the store on ext4, btrfs or xfs"
	default:
		return forkbox.Holding{How: forkbox.Enforced}
	}
	return no
}
