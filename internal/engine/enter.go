package engine

import (
	"context"

	"github.com/forkbox/forkbox"
)

// entry is a box in which something may be run: its turn, and a place on the
// host for it.
type entry struct {
	box    forkbox.Box
	h      *handle
	pass   *pass
	unlock func()
}

// leave gives both back.
func (in *entry) leave() {
	in.pass.done()
	in.unlock()
}

// enter waits for a place for a box that is to run, and then for its turn. The
// place comes first: who waits for the host must not keep others from stopping
// the box.
func (e *Engine) enter(ctx context.Context, who forkbox.Owner, ref string, wish forkbox.Wish, exec bool) (*entry, error) {
	id, seen, err := e.seen(ctx, who, ref)
	if err != nil {
		return nil, err
	}
	for start := false; ; start, seen = true, nil {
		in, needed, err := e.tryEnter(ctx, who, id, seen, wish, exec, start)
		if err != nil || !needed {
			return in, err
		}
	}
}

// seen resolves ref. Unless the box runs already it is what the ledger said of
// it, which need not be asked again at once.
func (e *Engine) seen(ctx context.Context, who forkbox.Owner, ref string) (id string, box *forkbox.Box, err error) {
	if e.runs(ref) {
		id, err = e.idOf(ctx, who, ref)
		return id, nil, err
	}
	found, err := e.resolve(ctx, who, ref)
	return found.ID, &found, err
}

// tryEnter says that a place to start the box is needed, where it stopped
// meanwhile and was not to be started.
func (e *Engine) tryEnter(ctx context.Context, who forkbox.Owner, id string, seen *forkbox.Box, wish forkbox.Wish, exec, start bool) (_ *entry, needed bool, err error) {
	p, err := e.placeFor(ctx, who, id, seen, wish, exec, start)
	if err != nil {
		return nil, false, err
	}
	in := &entry{pass: p}
	if in.box, in.h, in.unlock, err = e.takeID(ctx, id); err != nil {
		p.done()
		return nil, false, err
	}
	if p != nil && in.box.State == forkbox.Stopped && (!p.want.Start || e.outgrew(in.box, p.want)) {
		in.leave()
		return nil, true, nil
	}
	return in, false, nil
}

// outgrew says whether a box was given larger limits while it waited for a
// place for smaller ones.
func (e *Engine) outgrew(box forkbox.Box, admitted Want) bool {
	if e.renewed(&box) != nil {
		return false // it will be refused where that is said
	}
	for _, r := range []forkbox.Resource{forkbox.Memory, forkbox.CPUs} {
		if forkbox.Tighter(valueIn(admitted.Policy, r), valueIn(box.Policy, r)) {
			return true
		}
	}
	return false
}

// placeFor waits for a place. seen is the box as it was a moment ago, nil where
// that is not known.
func (e *Engine) placeFor(ctx context.Context, who forkbox.Owner, id string, seen *forkbox.Box, wish forkbox.Wish, exec, start bool) (*pass, error) {
	if e.admitsAll {
		return nil, nil
	}
	want, what := Want{Owner: who, Exec: exec}, "run a command"
	if start || !e.runs(id) {
		if seen == nil {
			box, err := e.ledger.Box(ctx, id)
			if err != nil {
				return nil, err
			}
			seen = &box
		}
		box := *seen
		// Refused before it waits for a place.
		if err := e.startable(&box); err != nil {
			return nil, err
		}
		want.Start, want.Policy, what = true, box.Policy, "start box "+box.Name
		wish.Priority = orElse(wish.Priority, box.Priority)
	}
	return e.admit(ctx, want, wish, what)
}

func (e *Engine) runs(id string) bool {
	h := e.handle(id)
	return h != nil && h.current() != nil
}

// startable refuses what cannot be started, and brings its limits up to date.
func (e *Engine) startable(box *forkbox.Box) error {
	const op = "start box"
	if err := usable(op, *box); err != nil {
		return err
	}
	if err := e.inTime(op, *box); err != nil {
		return err
	}
	return e.renewed(box)
}

// newPlace waits for a place for a new box.
func (e *Engine) newPlace(ctx context.Context, who forkbox.Owner, t terms, wish forkbox.Wish) (*pass, error) {
	wish.Priority = t.asked.Priority
	return e.admit(ctx, Want{Owner: who, New: true, Policy: t.policy}, wish, "create box")
}
