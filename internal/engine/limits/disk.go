package limits

import (
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
)

// WatchDisk pauses a box at its limit, where no kernel does: before the host is
// full. It says when to look again.
func (m *Manager) WatchDisk(h *core.Handle, a *core.Attached) time.Duration {
	box := h.Box(a)
	if box.Paused != "" || !watched(box.Policy) {
		return core.Never
	}
	used, err := m.used(m.core.Ctx, h, a, m.watchEvery)
	if err != nil {
		m.core.WarnFailed("look at the disk of a box", h, err)
		return m.nextLook(a)
	}
	if r, limit, over := overDisk(box.Policy, used); over {
		why := diskWhy(r, limit)
		m.core.WarnFailed("pause a box at its limit", h, m.freeze(h, a, why, forkbox.EventDisk))
	}
	return m.nextLook(a)
}

// nextLook leaves most of the time to others, where to look takes long.
func (m *Manager) nextLook(a *core.Attached) time.Duration {
	meter := &gauges.Of(a).meter
	meter.mu.Lock()
	defer meter.mu.Unlock()
	return max(m.watchEvery, share*meter.cost)
}

func watched(p forkbox.Policy) bool {
	for _, r := range forkbox.ResourcesHeldBy(forkbox.HeldByDisk) {
		if _, has := p.Of(r); has && p[r].How == forkbox.Watched {
			return true
		}
	}
	return false
}

// overDisk is the limit that is watched and was reached.
func overDisk(p forkbox.Policy, used usage) (forkbox.Resource, int64, bool) {
	for _, r := range forkbox.ResourcesHeldBy(forkbox.HeldByDisk) {
		limit, has := p.Of(r)
		if has && p[r].How == forkbox.Watched && used.of(r) >= limit {
			return r, limit, true
		}
	}
	return "", 0, false
}
