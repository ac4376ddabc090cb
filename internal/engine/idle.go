package engine

import (
	"context"
	"time"

	"github.com/forkbox/forkbox"
)

// watchIdle ends a box in which nothing was run for as long as its policy
// allows. Processes that an exec left behind do not count as something.
func (e *Engine) watchIdle(h *handle, a *attached) time.Duration {
	limit, has := h.policy(a).Of(forkbox.Idle)
	if !has {
		return never
	}
	left := e.idleLeft(h, a, span(limit))
	if left > 0 {
		return left
	}
	err := e.asCurrent(h, a, func(ctx context.Context, box *forkbox.Box) error {
		limit, has := box.Policy.Of(forkbox.Idle)
		if !has || e.idleLeft(h, a, span(limit)) > 0 {
			return nil
		}
		why := ending{cause: forkbox.CauseIdle, by: own, why: "nothing was run in the box for " + shortSpan(span(limit))}
		if err := e.finishBox(ctx, h, a, box, why); err != nil {
			return err
		}
		e.tell(*box, forkbox.EventIdle, "", why.why)
		return nil
	})
	e.failing("stop an idle box", h, err)
	return e.tick
}

// idleLeft is how long a box may go on idling.
func (e *Engine) idleLeft(h *handle, a *attached, limit time.Duration) time.Duration {
	_, since := e.clock()
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(a.execs) > 0 {
		return limit
	}
	return limit - (since - tended.of(a).quiet)
}

// idled counts the time that a box was idle before it was found running.
func (e *Engine) idled(h *handle, a *attached, box forkbox.Box) {
	if before := e.idleBefore(box, a); before > 0 {
		h.mu.Lock()
		tended.of(a).quiet -= before
		h.mu.Unlock()
	}
}

// idleBefore is for how long a box that was found running has been idle: since
// its last exec ended, or since it was started.
func (e *Engine) idleBefore(box forkbox.Box, a *attached) time.Duration {
	if _, has := box.Policy.Of(forkbox.Idle); !has {
		return 0
	}
	ctx, cancel := context.WithTimeout(e.ctx, statsLimit)
	defer cancel()
	execs, err := e.ledger.Execs(ctx, box.ID)
	ps, failed := a.instance.Processes(ctx)
	if err != nil || failed != nil {
		return 0
	}
	var last time.Time
	for _, x := range execs {
		last = later(last, x.Started)
		if x.Ended != nil {
			last = later(last, *x.Ended)
		}
	}
	for _, p := range ps {
		if p.PID == 1 {
			last = later(last, p.Started)
		}
	}
	if last.IsZero() {
		return 0
	}
	return max(0, e.now().Round(0).Sub(last))
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
