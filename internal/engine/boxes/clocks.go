package boxes

import (
	"context"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
)

// clocks end boxes whose time is up, or in which nothing was run for too long.
type clocks struct {
	core  *core.Core
	boxes *Manager
	tick  time.Duration // the longest that they do not look
}

// WatchClocks ends a box whose time is up, or that was idle for too long, and
// warns of the first. It says when to look again: not later than m.tick, since
// no timer of ours goes on while the host sleeps.
func (m *Manager) WatchClocks(h *core.Handle, a *core.Attached) time.Duration {
	next := min(m.clocks.watchTTL(h, a), m.clocks.watchIdle(h, a))
	if next == core.Never {
		return core.Never
	}
	return max(time.Millisecond, min(next, m.clocks.tick))
}

func (c *clocks) watchTTL(h *core.Handle, a *core.Attached) time.Duration {
	box := h.Box(a)
	if box.Ends == nil {
		return core.Never
	}
	now := c.core.Instant()
	c.noticeJump(h, a, now)
	left, warn := now.Left(*box.Ends), warnAt(box)
	switch {
	case left <= 0:
		c.core.WarnFailed("end a box whose time is up", h, c.timeUp(h, a))
		return c.tick
	case box.Warned:
		return left
	case left <= warn:
		c.core.WarnFailed("warn of a box's end", h, c.warn(h, a))
		return left
	}
	return left - warn
}

func warnAt(box forkbox.Box) time.Duration {
	ttl, _ := box.Policy.Of(forkbox.TTL)
	return core.WarnBefore(core.Span(ttl))
}

// warn tells, once, that a box ends soon. That it did is written first: a
// restart must not tell again.
func (c *clocks) warn(h *core.Handle, a *core.Attached) error {
	return c.core.WhileCurrent(h, a, func(ctx context.Context, box *forkbox.Box) error {
		if box.Ends == nil || box.Warned || c.core.Instant().Left(*box.Ends) > warnAt(*box) {
			return nil // it was extended meanwhile
		}
		box.Warned = true
		left := max(0, c.core.Instant().Left(*box.Ends)).Round(time.Second)
		soon := c.core.About(*box, forkbox.EventTTLSoon, "it ends in "+core.ShortSpan(left)+"; for more time: forkbox extend "+box.Name+" 1h")
		if err := c.core.Ledger.UpdateBox(ctx, *box, soon); err != nil {
			return err
		}
		h.Govern(a, *box)
		return nil
	})
}

// timeUp ends a box whose time is up. Its data stays.
func (c *clocks) timeUp(h *core.Handle, a *core.Attached) error {
	return c.core.WhileCurrent(h, a, func(ctx context.Context, box *forkbox.Box) error {
		if box.Ends == nil || c.core.Instant().Left(*box.Ends) > 0 {
			return nil // it was extended meanwhile
		}
		why := core.Ending{Cause: forkbox.CauseTTL, By: core.ByForkbox, Why: "the box's time was up"}
		return c.boxes.finishBox(ctx, h, a, box, why, forkbox.EventTTL, "its time was up; its files are kept: forkbox extend "+box.Name+" 1h")
	})
}

// finishBox stops a box that no caller asked to stop, and tells why. The caller
// has its turn.
func (m *Manager) finishBox(ctx context.Context, h *core.Handle, a *core.Attached, box *forkbox.Box, why core.Ending, kind forkbox.EventKind, text string) error {
	box.Pinned, box.Death = false, why.Death()
	return m.haltFor(ctx, h, a, box, m.StopGrace, why, m.core.About(*box, kind, text))
}

// jumpLeast is by how much a clock is set that is worth telling: less is what
// keeping it right takes.
const jumpLeast = 5 * time.Second

// noticeJump keeps the end of a box right, as people read it, when the clock
// was set.
func (c *clocks) noticeJump(h *core.Handle, a *core.Attached, now core.Instant) {
	t := tended.Of(a)
	before := t.seen
	t.seen = now
	jump := now.Jumped(before)
	if before.Boot == "" || jump.Abs() < jumpLeast {
		return
	}
	err := c.core.WhileCurrent(h, a, func(ctx context.Context, box *forkbox.Box) error {
		if box.Ends == nil {
			return nil
		}
		box.Ends = now.Again(*box.Ends)
		left := max(0, now.Left(*box.Ends)).Round(time.Second)
		set := c.core.About(*box, forkbox.EventTimeJumps, "the host's clock was set by "+jump.Round(time.Second).String()+
			"; the box still ends in "+core.ShortSpan(left))
		if err := c.core.Ledger.UpdateBox(ctx, *box, set); err != nil {
			return err
		}
		h.Govern(a, *box)
		return nil
	})
	c.core.WarnFailed("tell that the clock was set", h, err)
}

// InTime refuses to run something in a box whose time is up.
func (m *Manager) InTime(op string, box forkbox.Box) error {
	if box.Ends == nil || m.core.Instant().Left(*box.Ends) > 0 {
		return nil
	}
	return forkbox.Errorf(forkbox.Busy, op, "the time of %s is up", box.Name).
		Hint("give it more: forkbox extend %s 1h", box.Name)
}
