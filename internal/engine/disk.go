package engine

import (
	"time"

	"github.com/forkbox/forkbox"
)

// watchDisk pauses a box at its limit, where no kernel does: before the host is
// full. It says when to look again.
func (e *Engine) watchDisk(h *handle, a *attached) time.Duration {
	box := h.box(a)
	if box.Paused != "" || !watched(box.Policy) {
		return never
	}
	used, err := e.used(e.ctx, h, a, e.watchEvery)
	if err != nil {
		e.failing("look at the disk of a box", h, err)
		return e.nextLook(a)
	}
	if r, limit, over := overDisk(box.Policy, used); over {
		why := diskWhy(r, limit)
		e.failing("pause a box at its limit", h, e.freeze(h, a, why, forkbox.EventDisk))
	}
	return e.nextLook(a)
}

// nextLook leaves most of the time to others, where to look takes long.
func (e *Engine) nextLook(a *attached) time.Duration {
	meter := &gauges.of(a).meter
	meter.mu.Lock()
	defer meter.mu.Unlock()
	return max(e.watchEvery, share*meter.cost)
}

func watched(p forkbox.Policy) bool {
	for _, r := range []forkbox.Resource{forkbox.Disk, forkbox.Inodes} {
		if _, has := p.Of(r); has && p[r].How == forkbox.Watched {
			return true
		}
	}
	return false
}

// overDisk is the limit that is watched and was reached.
func overDisk(p forkbox.Policy, used usage) (forkbox.Resource, int64, bool) {
	for _, r := range []forkbox.Resource{forkbox.Disk, forkbox.Inodes} {
		limit, has := p.Of(r)
		if has && p[r].How == forkbox.Watched && used.of(r) >= limit {
			return r, limit, true
		}
	}
	return "", 0, false
}
