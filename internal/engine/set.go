package engine

import (
	"context"
	"errors"
	"strings"

	"github.com/forkbox/forkbox"
)

// Set changes the limits of a box, at once also of one that runs. What the wish
// does not name stays; [forkbox.Unlimited] lifts a limit. All of it holds, or
// nothing changed.
func (e *Engine) Set(ctx context.Context, who forkbox.Owner, ref string, wish forkbox.Wish) (forkbox.Box, error) {
	const op = "set limits"
	return e.change(ctx, op, who, ref, func(ctx context.Context, h *handle, box *forkbox.Box) error {
		if err := usable(op, *box); err != nil {
			return err
		}
		next, err := e.withLimits(who, *box, wish)
		if err != nil {
			return err
		}
		a, err := e.instanceOf(ctx, h, box)
		if err != nil {
			return err
		}
		next.State, next.Note, next.Death = box.State, box.Note, box.Death // found may have seen its end
		if err := e.roomFor(*box, next, a != nil); err != nil {
			return err
		}
		was := *box
		err = e.set(context.WithoutCancel(ctx), h, a, box, next)
		if err != nil {
			e.queue.changed(next, was, a != nil) // it had been counted
		}
		return err
	})
}

// withLimits is the box as it is to be.
func (e *Engine) withLimits(who forkbox.Owner, box forkbox.Box, wish forkbox.Wish) (forkbox.Box, error) {
	t, err := e.terms(who, changed(box.Asked, wish), box.Net)
	if err != nil {
		return box, err
	}
	_, said := wish.Limits[forkbox.TTL]
	if said {
		box.Ends, box.Warned = nil, false // it counts from now
	}
	now := e.instant()
	t.put(&box, now)
	if _, has := t.policy.Of(forkbox.TTL); !has {
		box.Ends = nil
	}
	if !said {
		return box, nil
	}
	return box, e.withinFloor("set limits", now, box)
}

// set has limits hold before it writes that they do.
func (e *Engine) set(ctx context.Context, h *handle, a *attached, box *forkbox.Box, next forkbox.Box) error {
	if err := e.limit(ctx, h, a, next); err != nil {
		return errors.Join(err, e.limit(ctx, h, a, *box)) // a part of it may hold
	}
	if err := e.ledger.UpdateBox(ctx, next); err != nil {
		return errors.Join(err, e.limit(ctx, h, a, *box))
	}
	was := *box
	*box = next
	if a != nil {
		h.govern(a, next)
	}
	e.tell(next, forkbox.EventLimits, "", differences(was, next))
	return nil
}

// limit has a box's policy hold, by the provider and by its gate. a is nil when
// it is at rest.
func (e *Engine) limit(ctx context.Context, h *handle, a *attached, box forkbox.Box) error {
	if err := e.limitUse(ctx, a, box); err != nil {
		return err
	}
	return e.updateGate(h, a, box)
}

func (e *Engine) limitUse(ctx context.Context, a *attached, box forkbox.Box) error {
	g := e.governor()
	if g == nil {
		return nil
	}
	var running forkbox.Instance
	if a != nil {
		running = a.instance
	}
	box, err := e.withSaves(ctx, box)
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

func priorityText(p forkbox.Priority) string { return string(orElse(p, forkbox.NormalPriority)) }
