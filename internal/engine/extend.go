package engine

import (
	"context"
	"time"

	"github.com/forkbox/forkbox"
)

// Extend has a box end later by so much. One whose time is up gets that much
// from now on.
func (e *Engine) Extend(ctx context.Context, who forkbox.Owner, ref string, by time.Duration) (forkbox.Box, error) {
	const op = "extend box"
	return e.change(ctx, op, who, ref, func(ctx context.Context, h *handle, box *forkbox.Box) error {
		next, err := e.extended(op, *box, by)
		if err != nil {
			return err
		}
		if err := e.ledger.UpdateBox(ctx, next); err != nil {
			return err
		}
		*box = next
		if a := h.current(); a != nil {
			h.govern(a, next)
		}
		left := e.instant().left(*next.Ends).Round(time.Second)
		e.tell(next, forkbox.EventExtended, "", "by "+shortSpan(by)+"; it ends in "+shortSpan(left))
		return nil
	})
}

func (e *Engine) extended(op string, box forkbox.Box, by time.Duration) (forkbox.Box, error) {
	if err := usable(op, box); err != nil {
		return box, err
	}
	switch {
	case by <= 0:
		return box, forkbox.Errorf(forkbox.Invalid, op, "%s is not a time to extend it by", by)
	case by > longestSpan:
		return box, forkbox.Errorf(forkbox.Invalid, op, "%s is too long a time", by).Hint("the longest is a hundred years")
	case box.Ends == nil:
		return box, forkbox.Errorf(forkbox.Invalid, op, "%s has no end", box.Name).
			Hint("give it one: forkbox set %s --ttl 2h", box.Name)
	}
	now := e.instant()
	box.Ends, box.Warned = now.later(*box.Ends, by), false
	return box, e.withinFloor(op, now, box)
}

// withinFloor refuses a box that would live longer than the host, or its user,
// allows in all: to extend it again and again must not be a way around that.
func (e *Engine) withinFloor(op string, now instant, box forkbox.Box) error {
	floor, has := e.longest(box.Owner)
	if box.Ends == nil || !has {
		return nil
	}
	age := now.time.Round(0).Sub(box.Created)
	if age+now.left(*box.Ends) <= floor.span+slack {
		return nil
	}
	return forkbox.Errorf(forkbox.Denied, op, "the %s allows %s in all, and %s is %s old", floor.from,
		shortSpan(floor.span), box.Name, shortSpan(age.Round(time.Second))).
		Hint("make a fork of it, which begins anew: forkbox fork %s", box.Name)
}

// slack is for what passes between the making of a box and the setting of its
// end.
const slack = time.Second

// allowance is how long something may last, and who says so.
type allowance struct {
	span time.Duration
	from string
}

// longest is how long boxes of an owner may live at most. What a project wants
// is clamped to that, so that a project that wants no end is told.
func (e *Engine) longest(owner forkbox.Owner) (allowance, bool) {
	wish := forkbox.Wish{Project: forkbox.Limits{forkbox.TTL: forkbox.Unlimited}, ProjectFile: "-", BestEffort: true}
	p, err := e.policies.Resolve(owner, wish, e.holds(forkbox.NetPolicy), nil, false)
	if err != nil {
		return allowance{}, false
	}
	ttl, has := p.Of(forkbox.TTL)
	return allowance{span(ttl), p[forkbox.TTL].From}, has
}

func shortSpan(d time.Duration) string { return forkbox.FormatLimit(forkbox.TTL, int64(d)) }
