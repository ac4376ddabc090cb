package boxes

import (
	"context"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
	"github.com/forkbox/forkbox/internal/engine/limits"
)

// watchIdle ends a box in which nothing was run for as long as its policy
// allows. Processes that an exec left behind do not count as something.
func (c *clocks) watchIdle(h *core.Handle, a *core.Attached) time.Duration {
	limit, has := h.Policy(a).Of(forkbox.Idle)
	if !has {
		return core.Never
	}
	left := c.idleLeft(h, a, core.Span(limit))
	if left > 0 {
		return left
	}
	err := c.core.WhileCurrent(h, a, func(ctx context.Context, box *forkbox.Box) error {
		limit, has := box.Policy.Of(forkbox.Idle)
		if !has || c.idleLeft(h, a, core.Span(limit)) > 0 {
			return nil
		}
		why := core.Ending{Cause: forkbox.CauseIdle, By: core.ByForkbox, Why: "nothing was run in the box for " + core.ShortSpan(core.Span(limit))}
		return c.boxes.finishBox(ctx, h, a, box, why, forkbox.EventIdle, why.Why)
	})
	c.core.WarnFailed("stop an idle box", h, err)
	return c.tick
}

// idleLeft is how long a box may go on idling.
func (c *clocks) idleLeft(h *core.Handle, a *core.Attached, limit time.Duration) time.Duration {
	_, since := c.core.Clock()
	h.Mu.Lock()
	defer h.Mu.Unlock()
	if a.InUse() {
		return limit
	}
	return limit - (since - tended.Of(a).quiet)
}

// countIdleBefore counts the time that a box was idle before it was found running.
func (c *clocks) countIdleBefore(h *core.Handle, a *core.Attached, box forkbox.Box) {
	if before := c.idleBefore(box, a); before > 0 {
		h.Mu.Lock()
		tended.Of(a).quiet -= before
		h.Mu.Unlock()
	}
}

// idleBefore is for how long a box that was found running has been idle: since
// its last exec ended, or since it was started.
func (c *clocks) idleBefore(box forkbox.Box, a *core.Attached) time.Duration {
	if _, has := box.Policy.Of(forkbox.Idle); !has {
		return 0
	}
	ctx, cancel := context.WithTimeout(c.core.Ctx, limits.AnswerLimit)
	defer cancel()
	execs, err := c.core.Ledger.Execs(ctx, box.ID)
	ps, failed := a.Instance.Processes(ctx)
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
	return max(0, c.core.Now().Round(0).Sub(last))
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
