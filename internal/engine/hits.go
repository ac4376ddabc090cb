package engine

import (
	"fmt"

	"github.com/forkbox/forkbox"
)

// tellHits tells of limits that were met without an exec having ended of it.
func (e *Engine) tellHits(h *handle, a *attached, now forkbox.Stats) {
	h.mu.Lock()
	g := gauges.of(a)
	oom, pids := now.OOMKills-g.hits.oom, now.PidsHits-g.hits.pids
	first, box := !g.hits.known, a.known
	g.hits = hits{known: true, oom: now.OOMKills, pids: now.PidsHits}
	h.mu.Unlock()
	if first {
		return
	}
	if oom > 0 {
		e.tell(box, forkbox.EventOOM, "", fmt.Sprintf("%d processes were killed: memory limit of %s reached", oom, ruleText(box.Policy, forkbox.Memory)))
	}
	if pids > 0 {
		e.tell(box, forkbox.EventPids, "", fmt.Sprintf("%d processes could not be started: pids limit of %s reached", pids, ruleText(box.Policy, forkbox.Pids)))
	}
}

// hits is what was told of limits that were met. An exec that died of one tells
// itself.
type hits struct {
	known     bool
	oom, pids int64
}

// countFromZero says that the counters of a box began at zero just now.
func countFromZero(h *handle) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.attached != nil {
		gauges.of(h.attached).hits.known = true
	}
}

// countHit notes what an exec told. The caller holds the handle's mu.
func countHit(a *attached, cause forkbox.Cause) {
	x := &gauges.of(a).hits
	switch cause {
	case forkbox.CauseOOM:
		x.oom++
	case forkbox.CausePids:
		x.pids++
	}
}
