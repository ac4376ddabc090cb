package race

import (
	"context"
	"slices"
	"time"

	"github.com/forkbox/forkbox"
)

// Remove forgets a race, with its boxes and what they printed. One that runs is
// cancelled first, with force.
func (r *Races) Remove(ctx context.Context, who forkbox.Owner, ref string, force bool) error {
	const op = "remove race"
	end, err := r.begin(op)
	if err != nil {
		return err
	}
	defer end()
	rec, err := r.findNamed(ctx, who, op, ref)
	if err != nil {
		return err
	}
	if r.running(rec.ID) != nil {
		if !force {
			return forkbox.Errorf(forkbox.Busy, op, "%s runs", rec.Name).
				Hint("cancel it and remove it: forkbox race rm -f %s", rec.Name)
		}
		if _, err := r.Cancel(ctx, who, rec.ID); err != nil {
			return err
		}
	}
	done, err := r.takeTurn(ctx, rec.ID)
	if err != nil {
		return err
	}
	defer done()
	return r.removeAll(context.WithoutCancel(ctx), rec, force)
}

// removeAll removes what there is of a race, the knowledge of it last.
func (r *Races) removeAll(ctx context.Context, rec forkbox.Race, force bool) error {
	boxes, err := r.removable(ctx, rec)
	if err != nil {
		return err
	}
	for _, box := range boxes {
		if err := r.boxes.Remove(ctx, rec.Owner, box.ID, force); err != nil && forkbox.CodeOf(err) != forkbox.NotFound {
			return err
		}
	}
	if err := r.texts.remove(rec.ID); err != nil {
		return forkbox.Wrap("remove race", err)
	}
	return r.ledger.DeleteRace(ctx, rec.ID, r.about(rec, forkbox.EventRaceRemoved, "it and its boxes are gone", forkbox.EventData{}))
}

// removable are the boxes that go with a race: its own, but for the one that
// another race began at, as a repeated one does; and the one that it began at
// itself, where that was left by a race that is gone.
func (r *Races) removable(ctx context.Context, rec forkbox.Race) ([]forkbox.Box, error) {
	races, err := r.ledger.Races(ctx, &rec.Owner.UID)
	if err != nil {
		return nil, err
	}
	boxes, err := r.ledger.Boxes(ctx, &rec.Owner.UID)
	races = slices.DeleteFunc(races, func(other forkbox.Race) bool { return other.ID == rec.ID })
	needed := func(box forkbox.Box) bool {
		return slices.ContainsFunc(races, func(other forkbox.Race) bool { return beginsAt(other, box) || other.ID == box.Race })
	}
	return slices.DeleteFunc(boxes, func(box forkbox.Box) bool {
		return box.Race == "" || box.Race != rec.ID && !beginsAt(rec, box) || needed(box)
	}), err
}

// beginsAt says whether the approaches of a race began as a snapshot of a box.
func beginsAt(rec forkbox.Race, box forkbox.Box) bool {
	id, _, at := forkbox.SplitRef(rec.Point)
	return at && id == box.ID
}

const (
	mostKept   = 200 // races of an owner
	pruneEvery = 16  // races, of all owners
)

// prune forgets the oldest races of an owner who has many. Their boxes are
// left: what is in them may be their owner's work, and retention looks after
// it.
func (r *Races) prune(who forkbox.Owner) {
	list, err := r.ledger.Races(r.ctx, &who.UID)
	if err != nil || len(list) <= mostKept {
		return
	}
	for _, rec := range list[mostKept:] {
		if rec.State == forkbox.RaceRunning {
			continue
		}
		err := r.texts.remove(rec.ID)
		if err == nil {
			err = r.ledger.DeleteRace(r.ctx, rec.ID, r.about(rec, forkbox.EventRaceRemoved, "it was kept long enough; its boxes stay", forkbox.EventData{By: "forkbox"}))
		}
		if err != nil && r.ctx.Err() == nil {
			r.log.Warn("cannot forget an old race", "race", rec.ID, "error", err)
		}
	}
}

// turn is whose turn it is to land a race, or to remove it.
type turn struct {
	token chan struct{}
	users int
}

// takeTurn waits until no other request lands or removes a race.
func (r *Races) takeTurn(ctx context.Context, id string) (done func(), err error) {
	r.mu.Lock()
	t := r.landings[id]
	if t == nil {
		t = &turn{token: make(chan struct{}, 1)}
		r.landings[id] = t
	}
	t.users++
	r.mu.Unlock()
	leave := func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if t.users--; t.users == 0 {
			delete(r.landings, id)
		}
	}
	select {
	case t.token <- struct{}{}:
		return func() { <-t.token; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, forkbox.Errorf(forkbox.Busy, "land race", "another request lands it, and the wait was given up: %w", ctx.Err())
	}
}

// cancelling is what the record of a race says while it is being cancelled: a
// daemon that takes it over goes on with that, and not with the race.
const cancelling = "it is being cancelled"

// Cancel ends a race: what runs in its boxes ends, and they rest, to be looked
// at. It returns when all is still. It can be repeated.
func (r *Races) Cancel(ctx context.Context, who forkbox.Owner, ref string) (forkbox.Race, error) {
	rec, err := r.findNamed(ctx, who, "cancel race", ref)
	if err != nil {
		return rec, err
	}
	live := r.running(rec.ID)
	if live == nil {
		return r.Get(ctx, who, rec.ID)
	}
	live.wantCancelled()
	select {
	case <-live.over:
	case <-ctx.Done():
		return live.record(), forkbox.Errorf(forkbox.TimedOut, "cancel race", "what runs in its boxes is still ending: %w", ctx.Err())
	}
	if live.closing() {
		return live.record(), forkbox.Errorf(forkbox.Unavailable, "cancel race", "the daemon is stopping").
			Hint("the next one goes on with it")
	}
	return live.record(), nil
}

// wantCancelled has a race end, whether or not that can be written down: it may
// be what fills the disk. Its end is written again when it has come.
func (r *race) wantCancelled() {
	r.mu.Lock()
	ended := r.rec.State != forkbox.RaceRunning
	if !ended {
		r.rec.Why = cancelling
	}
	r.mu.Unlock()
	if ended {
		return
	}
	if err := r.keepRace(false); err != nil {
		r.log.Error("cannot record that a race is cancelled: a daemon that takes it over goes on with it", "race", r.id, "error", err)
	}
	r.cancel(errCancelled)
}

// endEvery is how often it is tried to record the end of a race.
const endEvery = 2 * time.Second

// keepEnd records the end of a race as soon as that can be done.
func (r *scorecard) keepEnd() {
	for wait(r.Races.ctx, nil, endEvery) {
		if err := r.keepRace(true); err == nil || forkbox.CodeOf(err) == forkbox.NotFound {
			return
		}
	}
}
