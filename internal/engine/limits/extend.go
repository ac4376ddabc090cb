package limits

import (
	"context"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
)

// Extend has a box end later by so much. One whose time is up gets that much
// from now on.
func (m *Manager) Extend(ctx context.Context, who forkbox.Owner, ref string, by time.Duration) (forkbox.Box, error) {
	const op = "extend box"
	return m.core.Change(ctx, op, who, ref, func(ctx context.Context, h *core.Handle, box *forkbox.Box) error {
		next, err := m.extended(op, *box, by)
		if err != nil {
			return err
		}
		left := m.core.Instant().Left(*next.Ends).Round(time.Second)
		told := m.core.About(next, forkbox.EventExtended, "by "+core.ShortSpan(by)+"; it ends in "+core.ShortSpan(left))
		if err := m.core.Ledger.UpdateBox(ctx, next, core.With(told, forkbox.EventData{By: core.ByUser(who)})); err != nil {
			return err
		}
		*box = next
		if a := h.Current(); a != nil {
			h.Govern(a, next)
		}
		return nil
	})
}

func (m *Manager) extended(op string, box forkbox.Box, by time.Duration) (forkbox.Box, error) {
	if err := core.Usable(op, box); err != nil {
		return box, err
	}
	switch {
	case by <= 0:
		return box, forkbox.Errorf(forkbox.Invalid, op, "%s is not a time to extend it by", by)
	case by > core.LongestSpan:
		return box, forkbox.Errorf(forkbox.Invalid, op, "%s is too long a time", by).Hint("the longest is a hundred years")
	case box.Ends == nil:
		return box, forkbox.Errorf(forkbox.Invalid, op, "%s has no end", box.Name).
			Hint("give it one: forkbox set %s --ttl 2h", box.Name)
	}
	now := m.core.Instant()
	box.Ends, box.Warned = now.Later(*box.Ends, by), false
	return box, m.withinFloor(op, now, box)
}

// withinFloor refuses a box that would live longer than the host, or its user,
// allows in all: to extend it again and again must not be a way around that.
func (m *Manager) withinFloor(op string, now core.Instant, box forkbox.Box) error {
	floor, has := m.longest(box.Owner)
	if box.Ends == nil || !has {
		return nil
	}
	age := now.Time.Round(0).Sub(box.Created)
	if age+now.Left(*box.Ends) <= floor.span+slack {
		return nil
	}
	return forkbox.Errorf(forkbox.Denied, op, "the %s allows %s in all, and %s is %s old", floor.from,
		core.ShortSpan(floor.span), box.Name, core.ShortSpan(age.Round(time.Second))).
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
func (m *Manager) longest(owner forkbox.Owner) (allowance, bool) {
	wish := forkbox.Wish{Project: forkbox.Limits{forkbox.TTL: forkbox.Unlimited}, ProjectFile: "-", BestEffort: true}
	p, err := m.policies.Resolve(owner, wish, m.holds(forkbox.NetPolicy), nil, false)
	if err != nil {
		return allowance{}, false
	}
	ttl, has := p.Of(forkbox.TTL)
	return allowance{core.Span(ttl), p[forkbox.TTL].From}, has
}
