package engine

import (
	"context"
	"maps"

	"github.com/forkbox/forkbox"
)

// terms are the limits that a box is made with.
type terms struct {
	policy forkbox.Policy
	asked  forkbox.Wish
}

// Policy is the limits that a box of who's would get. It makes none.
func (e *Engine) Policy(ctx context.Context, who forkbox.Owner, wish forkbox.Wish) (forkbox.Policy, error) {
	_, end, err := e.begin(ctx, "resolve limits")
	if err != nil {
		return nil, err
	}
	defer end()
	t, err := e.terms(who, wish, forkbox.NetPolicy)
	return t.policy, err
}

// Holds says how each resource can be limited on this host.
func (e *Engine) Holds(context.Context) map[forkbox.Resource]forkbox.Holding {
	return e.holds(forkbox.NetPolicy)
}

// terms resolves a wish for a box with such a network.
func (e *Engine) terms(who forkbox.Owner, wish forkbox.Wish, mode forkbox.Net) (terms, error) {
	if err := e.checkWish(who, wish); err != nil {
		return terms{}, err
	}
	policy, err := e.policies.Resolve(who, wish, e.holds(mode), nil, false)
	return terms{policy, lasting(wish)}, forkbox.Wrap("limit the box", err)
}

// checkWish refuses what makes no sense and what the caller may not.
func (e *Engine) checkWish(who forkbox.Owner, wish forkbox.Wish) error {
	const op = "limit the box"
	for _, l := range []forkbox.Limits{wish.Limits, wish.Project} {
		if err := l.Check(); err != nil {
			return err
		}
	}
	if wish.Wait != nil && *wish.Wait < 0 {
		return forkbox.Errorf(forkbox.Invalid, op, "nobody can wait for less than no time")
	}
	switch wish.Priority {
	case "", forkbox.LowPriority, forkbox.NormalPriority:
		return nil
	case forkbox.HighPriority:
		if who.UID == 0 || who.UID == e.uid() {
			return nil
		}
		return forkbox.Errorf(forkbox.Denied, op, "only root may come before the others").
			Hint("use --priority normal or low")
	}
	return forkbox.Errorf(forkbox.Invalid, op, "there is no priority %q", wish.Priority).
		Hint("it is low, normal or high")
}

// lasting is what of a wish holds for longer than this once.
func lasting(w forkbox.Wish) forkbox.Wish {
	w.Wait, w.Ticket = nil, ""
	w.Limits, w.Project = maps.Clone(w.Limits), maps.Clone(w.Project)
	return w
}

// changed is what was asked for, with what is asked for now.
func changed(was *forkbox.Wish, now forkbox.Wish) forkbox.Wish {
	if was == nil {
		return now
	}
	out := lasting(*was)
	out.Wait, out.Ticket = now.Wait, now.Ticket
	out.BestEffort = was.BestEffort || now.BestEffort
	out.Priority = orElse(now.Priority, was.Priority)
	if now.ProjectFile != "" || now.Project != nil {
		out.Project, out.ProjectFile = now.Project, now.ProjectFile
	}
	for r, v := range now.Limits {
		if out.Limits == nil {
			out.Limits = forkbox.Limits{}
		}
		out.Limits[r] = v
	}
	return out
}

// put gives a box its terms, and the time that they leave it.
func (t terms) put(box *forkbox.Box, c instant) {
	box.Policy, box.BestEffort, box.Priority = t.policy, t.asked.BestEffort, t.asked.Priority
	if box.Asked = nil; !empty(t.asked) {
		box.Asked = &t.asked
	}
	if ttl, has := t.policy.Of(forkbox.TTL); has && box.Ends == nil {
		box.Ends = c.in(span(ttl))
	}
}

func empty(w forkbox.Wish) bool {
	return len(w.Limits) == 0 && len(w.Project) == 0 && w.ProjectFile == "" && !w.BestEffort && w.Priority == ""
}

// renewed are the terms of a box that is about to start. The host's limits may
// be narrower than when it was made, and may be held otherwise.
func (e *Engine) renewed(box *forkbox.Box) error {
	wish := forkbox.Wish{}
	if box.Asked != nil {
		wish = *box.Asked
	}
	policy, err := e.policies.Resolve(box.Owner, wish, e.holds(box.Net), nil, false)
	if err != nil {
		return withHint(forkbox.Wrap("start box", err), "change its limits: forkbox set %s", box.Name)
	}
	terms{policy, wish}.put(box, e.instant())
	return nil
}

func withHint(err error, format string, args ...any) error {
	if e, ok := err.(*forkbox.Error); ok {
		again := *e // not the one that others may hold
		return again.Hint(format, args...)
	}
	return err
}
