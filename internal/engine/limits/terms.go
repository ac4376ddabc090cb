package limits

import (
	"context"
	"maps"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
)

// Terms are the limits that a box is made with.
type Terms struct {
	policy forkbox.Policy
	asked  forkbox.Wish
}

// Policy is the limits that a box of who's would get. It makes none.
func (m *Manager) Policy(ctx context.Context, who forkbox.Owner, wish forkbox.Wish) (forkbox.Policy, error) {
	_, end, err := m.core.Begin(ctx, "resolve limits")
	if err != nil {
		return nil, err
	}
	defer end()
	t, err := m.TermsFor(who, wish, forkbox.NetPolicy)
	return t.policy, err
}

// Holds says how each resource can be limited on this host.
func (m *Manager) Holds(context.Context) map[forkbox.Resource]forkbox.Holding {
	return m.holds(forkbox.NetPolicy)
}

// TermsFor resolves a wish for a box with such a network.
func (m *Manager) TermsFor(who forkbox.Owner, wish forkbox.Wish, mode forkbox.Net) (Terms, error) {
	if err := m.CheckWish(who, wish); err != nil {
		return Terms{}, err
	}
	policy, err := m.policies.Resolve(who, wish, m.holds(mode), nil, false)
	return Terms{policy, lasting(wish)}, forkbox.Wrap("limit the box", err)
}

// CheckWish refuses what makes no sense and what the caller may not.
func (m *Manager) CheckWish(who forkbox.Owner, wish forkbox.Wish) error {
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
		if who.UID == 0 || who.UID == m.core.UID() {
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

// WishOver is what was asked for, with what is asked for now.
func WishOver(was *forkbox.Wish, now forkbox.Wish) forkbox.Wish {
	if was == nil {
		return now
	}
	out := lasting(*was)
	out.Wait, out.Ticket = now.Wait, now.Ticket
	out.BestEffort = was.BestEffort || now.BestEffort
	out.Priority = core.OrElse(now.Priority, was.Priority)
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

// Put gives a box its terms, and the time that they leave it.
func (t Terms) Put(box *forkbox.Box, c core.Instant) {
	box.Policy, box.BestEffort, box.Priority = t.policy, t.asked.BestEffort, t.asked.Priority
	if box.Asked = nil; !empty(t.asked) {
		box.Asked = &t.asked
	}
	if ttl, has := t.policy.Of(forkbox.TTL); has && box.Ends == nil {
		box.Ends = c.In(core.Span(ttl))
	}
}

func empty(w forkbox.Wish) bool {
	return len(w.Limits) == 0 && len(w.Project) == 0 && w.ProjectFile == "" && !w.BestEffort && w.Priority == ""
}

// RenewTerms brings the terms of a box up to date that is about to start. The host's limits may
// be narrower than when it was made, and may be held otherwise.
func (m *Manager) RenewTerms(box *forkbox.Box) error {
	wish := forkbox.Wish{}
	if box.Asked != nil {
		wish = *box.Asked
	}
	policy, err := m.policies.Resolve(box.Owner, wish, m.holds(box.Net), nil, false)
	if err != nil {
		return withHint(forkbox.Wrap("start box", err), "change its limits: forkbox set %s", box.Name)
	}
	Terms{policy, wish}.Put(box, m.core.Instant())
	return nil
}

func withHint(err error, format string, args ...any) error {
	if e, ok := err.(*forkbox.Error); ok {
		again := *e // not the one that others may hold
		return again.Hint(format, args...)
	}
	return err
}
