package execs

import (
	"context"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
	"github.com/forkbox/forkbox/internal/engine/limits"
)

// entry is a box in which something may be run: its turn, and a place on the
// host for it.
type entry struct {
	box    forkbox.Box
	h      *core.Handle
	pass   *limits.Pass
	unlock func()
}

// leave gives both back.
func (in *entry) leave() {
	in.pass.Done()
	in.unlock()
}

// enter waits for a place for a box that is to run, and then for its turn. The
// place comes first: who waits for the host must not keep others from stopping
// the box.
func (m *Manager) enter(ctx context.Context, who forkbox.Owner, ref string, wish forkbox.Wish, exec bool) (*entry, error) {
	id, seen, err := m.seen(ctx, who, ref)
	if err != nil {
		return nil, err
	}
	for start := false; ; start, seen = true, nil {
		in, needed, err := m.tryEnter(ctx, who, id, seen, wish, exec, start)
		if err != nil || !needed {
			return in, err
		}
	}
}

// seen resolves ref. Unless the box runs already it is what the ledger said of
// it, which need not be asked again at once.
func (m *Manager) seen(ctx context.Context, who forkbox.Owner, ref string) (id string, box *forkbox.Box, err error) {
	if m.runs(ref) {
		id, err = m.core.IDOf(ctx, who, ref)
		return id, nil, err
	}
	found, err := m.core.Resolve(ctx, who, ref)
	return found.ID, &found, err
}

// tryEnter says that a place to start the box is needed, where it stopped
// meanwhile and was not to be started.
func (m *Manager) tryEnter(ctx context.Context, who forkbox.Owner, id string, seen *forkbox.Box, wish forkbox.Wish, exec, start bool) (_ *entry, needed bool, err error) {
	p, err := m.placeFor(ctx, who, id, seen, wish, exec, start)
	if err != nil {
		return nil, false, err
	}
	in := &entry{pass: p}
	if in.box, in.h, in.unlock, err = m.core.TakeID(ctx, id); err != nil {
		p.Done()
		return nil, false, err
	}
	if p != nil && in.box.State == forkbox.Stopped && (!p.Want.Start || m.outgrew(in.box, p.Want)) {
		in.leave()
		return nil, true, nil
	}
	return in, false, nil
}

// outgrew says whether a box was given larger limits while it waited for a
// place for smaller ones.
func (m *Manager) outgrew(box forkbox.Box, admitted limits.Want) bool {
	if m.limits.RenewTerms(&box) != nil {
		return false // it will be refused where that is said
	}
	for _, r := range []forkbox.Resource{forkbox.Memory, forkbox.CPUs} {
		if forkbox.Tighter(limits.ValueIn(admitted.Policy, r), limits.ValueIn(box.Policy, r)) {
			return true
		}
	}
	return false
}

// placeFor waits for a place. seen is the box as it was a moment ago, nil where
// that is not known.
func (m *Manager) placeFor(ctx context.Context, who forkbox.Owner, id string, seen *forkbox.Box, wish forkbox.Wish, exec, start bool) (*limits.Pass, error) {
	if m.limits.AdmitsAll {
		return nil, nil
	}
	want, what := limits.Want{Owner: who, Exec: exec}, "run a command"
	if start || !m.runs(id) {
		if seen == nil {
			box, err := m.core.Ledger.Box(ctx, id)
			if err != nil {
				return nil, err
			}
			seen = &box
		}
		box := *seen
		// Refused before it waits for a place.
		if err := m.startable(&box); err != nil {
			return nil, err
		}
		want.Start, want.Policy, what = true, box.Policy, "start box "+box.Name
		wish.Priority = core.OrElse(wish.Priority, box.Priority)
	}
	return m.limits.Admit(ctx, want, wish, what)
}

func (m *Manager) runs(id string) bool {
	h := m.core.HandleOf(id)
	return h != nil && h.Current() != nil
}

// startable refuses what cannot be started, and brings its limits up to date.
func (m *Manager) startable(box *forkbox.Box) error {
	const op = "start box"
	if err := core.Usable(op, *box); err != nil {
		return err
	}
	if err := m.boxes.InTime(op, *box); err != nil {
		return err
	}
	return m.limits.RenewTerms(box)
}

// Start has a box run, and go on running when it idles.
func (m *Manager) Start(ctx context.Context, who forkbox.Owner, ref string) (forkbox.Box, error) {
	const op = "start box"
	ctx, end, err := m.core.Begin(ctx, op)
	if err != nil {
		return forkbox.Box{}, err
	}
	defer end()
	in, err := m.enter(ctx, who, ref, forkbox.Wish{}, false)
	if err != nil {
		return forkbox.Box{}, err
	}
	defer in.leave()
	_, err = m.boxes.Wake(ctx, in.h, &in.box)
	if err == nil {
		err = m.boxes.Pin(ctx, in.h, &in.box, true)
	}
	return in.box, forkbox.Wrap(op, err)
}
