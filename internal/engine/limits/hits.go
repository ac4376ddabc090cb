package limits

import (
	"fmt"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
)

// tellHits tells of limits that were met without an exec having ended of it.
func (m *Manager) tellHits(h *core.Handle, a *core.Attached, now forkbox.Stats) {
	h.Mu.Lock()
	g := gauges.Of(a)
	oom, pids := now.OOMKills-g.hits.oom, now.PidsHits-g.hits.pids
	first, box := !g.hits.known, a.Known
	g.hits = hits{known: true, oom: now.OOMKills, pids: now.PidsHits}
	h.Mu.Unlock()
	if first {
		return
	}
	if oom > 0 {
		m.core.Tell(m.core.About(box, forkbox.EventOOM, fmt.Sprintf("%d processes were killed: memory limit of %s reached", oom, ruleText(box.Policy, forkbox.Memory))))
	}
	if pids > 0 {
		m.core.Tell(m.core.About(box, forkbox.EventPids, fmt.Sprintf("%d processes could not be started: pids limit of %s reached", pids, ruleText(box.Policy, forkbox.Pids))))
	}
}

// hits is what was told of limits that were met. An exec that died of one tells
// itself.
type hits struct {
	known     bool
	oom, pids int64
}

// CountFromZero says that the counters of a box began at zero just now.
func CountFromZero(h *core.Handle) {
	h.Mu.Lock()
	defer h.Mu.Unlock()
	if h.Attached != nil {
		gauges.Of(h.Attached).hits.known = true
	}
}

// CountHit notes what an exec told. The caller holds the handle's mu.
func CountHit(a *core.Attached, cause forkbox.Cause) {
	x := &gauges.Of(a).hits
	switch cause {
	case forkbox.CauseOOM:
		x.oom++
	case forkbox.CausePids:
		x.pids++
	}
}
