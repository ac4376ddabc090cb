package limits

import (
	"context"
	"errors"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
)

// Set changes the limits of a box, at once also of one that runs. What the wish
// does not name stays; [forkbox.Unlimited] lifts a limit. All of it holds, or
// nothing changed.
func (m *Manager) Set(ctx context.Context, who forkbox.Owner, ref string, wish forkbox.Wish) (forkbox.Box, error) {
	const op = "set limits"
	return m.core.Change(ctx, op, who, ref, func(ctx context.Context, h *core.Handle, box *forkbox.Box) error {
		if err := core.Usable(op, *box); err != nil {
			return err
		}
		next, err := m.withLimits(who, *box, wish)
		if err != nil {
			return err
		}
		a, err := m.core.Find(ctx, h, box)
		if err != nil {
			return err
		}
		next.State, next.Note, next.Death = box.State, box.Note, box.Death // found may have seen its end
		if err := m.roomFor(*box, next, a != nil); err != nil {
			return err
		}
		was := *box
		err = m.set(context.WithoutCancel(ctx), h, a, box, next)
		if err != nil {
			m.Line.Changed(next, was, a != nil) // it had been counted
		}
		return err
	})
}

// withLimits is the box as it is to be.
func (m *Manager) withLimits(who forkbox.Owner, box forkbox.Box, wish forkbox.Wish) (forkbox.Box, error) {
	t, err := m.TermsFor(who, WishOver(box.Asked, wish), box.Net)
	if err != nil {
		return box, err
	}
	_, said := wish.Limits[forkbox.TTL]
	if said {
		box.Ends, box.Warned = nil, false // it counts from now
	}
	now := m.core.Instant()
	t.Put(&box, now)
	if _, has := t.policy.Of(forkbox.TTL); !has {
		box.Ends = nil
	}
	if !said {
		return box, nil
	}
	return box, m.withinFloor("set limits", now, box)
}

// set has limits hold before it writes that they do.
func (m *Manager) set(ctx context.Context, h *core.Handle, a *core.Attached, box *forkbox.Box, next forkbox.Box) error {
	if err := m.limit(ctx, h, a, next); err != nil {
		return errors.Join(err, m.limit(ctx, h, a, *box)) // a part of it may hold
	}
	if err := m.core.Ledger.UpdateBox(ctx, next, m.core.About(next, forkbox.EventLimits, differences(*box, next))); err != nil {
		return errors.Join(err, m.limit(ctx, h, a, *box))
	}
	*box = next
	if a != nil {
		h.Govern(a, next)
	}
	return nil
}

// limit has a box's policy hold, by the provider and by its gate. a is nil when
// it is at rest.
func (m *Manager) limit(ctx context.Context, h *core.Handle, a *core.Attached, box forkbox.Box) error {
	if err := m.limitUse(ctx, a, box); err != nil {
		return err
	}
	return m.network.UpdateGate(h, a, box)
}

func (m *Manager) limitUse(ctx context.Context, a *core.Attached, box forkbox.Box) error {
	g := m.governor()
	if g == nil {
		return nil
	}
	var running forkbox.Instance
	if a != nil {
		running = a.Instance
	}
	box, err := m.WithSaves(ctx, box)
	if err != nil {
		return err
	}
	return g.Limit(ctx, box, running)
}

// differences says what changed: "memory 1g → 4g, pids none → 512".
func differences(was, now forkbox.Box) string {
	var words []string
	for _, r := range forkbox.Resources {
		before, after := ruleText(was.Policy, r), ruleText(now.Policy, r)
		if before != after {
			words = append(words, string(r)+" "+before+" → "+after)
		}
	}
	if was.Priority != now.Priority {
		words = append(words, "priority "+priorityText(was.Priority)+" → "+priorityText(now.Priority))
	}
	if len(words) == 0 {
		return "nothing changed"
	}
	return strings.Join(words, ", ")
}

func ruleText(p forkbox.Policy, r forkbox.Resource) string {
	if v, has := p.Of(r); has {
		return forkbox.FormatLimit(r, v)
	}
	return "unlimited"
}

func priorityText(p forkbox.Priority) string { return string(core.OrElse(p, forkbox.NormalPriority)) }
