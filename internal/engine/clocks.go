package engine

import (
	"context"
	"math"
	"time"

	"github.com/forkbox/forkbox"
)

// never is when to look again at what has no end: a change of it is told.
const never time.Duration = math.MaxInt64

// watchClocks ends a box whose time is up, or that was idle for too long, and
// warns of the first. It says when to look again: not later than e.tick, since
// no timer of ours goes on while the host sleeps.
func (e *Engine) watchClocks(h *handle, a *attached) time.Duration {
	next := min(e.watchTTL(h, a), e.watchIdle(h, a))
	if next == never {
		return never
	}
	return max(time.Millisecond, min(next, e.tick))
}

func (e *Engine) watchTTL(h *handle, a *attached) time.Duration {
	box := h.box(a)
	if box.Ends == nil {
		return never
	}
	now := e.instant()
	e.noticeJump(h, a, now)
	left, warn := now.left(*box.Ends), warnAt(box)
	switch {
	case left <= 0:
		e.failing("end a box whose time is up", h, e.timeUp(h, a))
		return e.tick
	case box.Warned:
		return left
	case left <= warn:
		e.failing("warn of a box's end", h, e.warn(h, a))
		return left
	}
	return left - warn
}

func (e *Engine) failing(what string, h *handle, err error) {
	if err != nil && e.ctx.Err() == nil {
		e.log.Warn("cannot "+what, "box", h.id, "error", err)
	}
}

func warnAt(box forkbox.Box) time.Duration {
	ttl, _ := box.Policy.Of(forkbox.TTL)
	return warnBefore(span(ttl))
}

// warn tells, once, that a box ends soon. That it did is written first: a
// restart must not tell again.
func (e *Engine) warn(h *handle, a *attached) error {
	return e.asCurrent(h, a, func(ctx context.Context, box *forkbox.Box) error {
		if box.Ends == nil || box.Warned || e.instant().left(*box.Ends) > warnAt(*box) {
			return nil // it was extended meanwhile
		}
		box.Warned = true
		if err := e.ledger.UpdateBox(ctx, *box); err != nil {
			return err
		}
		h.govern(a, *box)
		left := max(0, e.instant().left(*box.Ends)).Round(time.Second)
		e.tell(*box, forkbox.EventTTLSoon, "", "it ends in "+shortSpan(left)+"; for more time: forkbox extend "+box.Name+" 1h")
		return nil
	})
}

// timeUp ends a box whose time is up. Its data stays.
func (e *Engine) timeUp(h *handle, a *attached) error {
	return e.asCurrent(h, a, func(ctx context.Context, box *forkbox.Box) error {
		if box.Ends == nil || e.instant().left(*box.Ends) > 0 {
			return nil // it was extended meanwhile
		}
		why := ending{cause: forkbox.CauseTTL, by: own, why: "the box's time was up"}
		if err := e.finishBox(ctx, h, a, box, why); err != nil {
			return err
		}
		e.tell(*box, forkbox.EventTTL, "", "its time was up; its files are kept: forkbox extend "+box.Name+" 1h")
		return nil
	})
}

// finishBox stops a box that nobody asked to stop. The caller has its turn.
func (e *Engine) finishBox(ctx context.Context, h *handle, a *attached, box *forkbox.Box, why ending) error {
	box.Pinned, box.Death = false, why.death()
	return e.haltFor(ctx, h, a, box, e.stopGrace, why)
}

// jumpLeast is by how much a clock is set that is worth telling: less is what
// keeping it right takes.
const jumpLeast = 5 * time.Second

// noticeJump keeps the end of a box right, as people read it, when the clock
// was set.
func (e *Engine) noticeJump(h *handle, a *attached, now instant) {
	t := tended.of(a)
	before := t.seen
	t.seen = now
	jump := now.jumped(before)
	if before.boot == "" || jump.Abs() < jumpLeast {
		return
	}
	err := e.asCurrent(h, a, func(ctx context.Context, box *forkbox.Box) error {
		if box.Ends == nil {
			return nil
		}
		box.Ends = now.again(*box.Ends)
		if err := e.ledger.UpdateBox(ctx, *box); err != nil {
			return err
		}
		h.govern(a, *box)
		left := max(0, now.left(*box.Ends)).Round(time.Second)
		e.tell(*box, forkbox.EventTimeJumps, "", "the host's clock was set by "+jump.Round(time.Second).String()+
			"; the box still ends in "+shortSpan(left))
		return nil
	})
	e.failing("tell that the clock was set", h, err)
}

// inTime refuses to run something in a box whose time is up.
func (e *Engine) inTime(op string, box forkbox.Box) error {
	if box.Ends == nil || e.instant().left(*box.Ends) > 0 {
		return nil
	}
	return forkbox.Errorf(forkbox.Busy, op, "the time of %s is up", box.Name).
		Hint("give it more: forkbox extend %s 1h", box.Name)
}
