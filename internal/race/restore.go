package race

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/forkbox/forkbox"
)

// restoreAll has every box be again as its steps left it: what checks wrote
// does not land.
func (r *race) restoreAll() {
	var all sync.WaitGroup
	for _, b := range r.tries {
		if b != nil {
			all.Go(b.restore)
		}
	}
	all.Wait()
}

// restore rolls the box back to what was saved of it. It can be repeated.
func (b *lane) restore() {
	saved := b.entry(b.i).Saved
	if saved == "" || b.restored || b.closing() {
		return
	}
	b.halt()
	if err := b.rollBack(saved); err == nil {
		b.restored = true
		b.editQuietly(b.i, func(e *forkbox.Entry) { e.Unclean = false })
		if b.known != nil { // a daemon that died may have left something
			b.inBackground(func() { b.sweep(b.uncancelled(), b.record(), b.entry(b.i), time.Time{}) })
		}
	} else if !b.gone(err) {
		b.note(fmt.Sprintf("the box of %s still has what checks wrote: %s", b.approachName(), err))
	}
}

// rollBack has the box be as it was saved. What checks wrote is not kept.
func (b *lane) rollBack(saved string) error {
	back, err := b.boxes.Rollback(b.uncancelled(), b.who, b.box.ID, forkbox.RollbackSpec{To: saved, Force: true})
	if err != nil {
		return err
	}
	b.inBackground(func() {
		err := b.boxes.RemoveSnapshot(b.uncancelled(), b.who, b.box.ID+"@"+back.Kept.ID, false)
		if err != nil && !b.gone(err) {
			b.log.Warn("cannot remove what checks wrote", "race", b.id, "box", b.box.ID, "error", err)
		}
	})
	return nil
}

// cleanLater has the boxes of races that are over be what was judged, where the
// last daemon died before they were: in the middle of a landing, or because
// they could not be rolled back then.
func (r *Races) cleanLater(ctx context.Context) {
	boxes, err := r.ledger.Boxes(ctx, nil)
	if err != nil {
		return
	}
	seen := map[string]bool{}
	for _, box := range boxes {
		if box.Race == "" || seen[box.Race] {
			continue
		}
		seen[box.Race] = true
		if err := r.cleanRace(ctx, box.Owner, box.Race); err != nil && ctx.Err() == nil {
			r.log.Warn("cannot restore what a race judged", "race", box.Race, "error", err)
		}
	}
}

func (r *Races) cleanRace(ctx context.Context, who forkbox.Owner, id string) error {
	if r.running(id) != nil {
		return nil
	}
	done, err := r.takeTurn(ctx, id)
	if err != nil {
		return err
	}
	defer done()
	found, err := r.ledger.FindRaces(ctx, who.UID, id)
	if err != nil || len(found) == 0 || found[0].ID != id || found[0].State == forkbox.RaceRunning {
		return err
	}
	rec := found[0]
	for i := range rec.Entries {
		if used, _ := r.used(ctx, who, rec.Entries[i].Box, time.Time{}); used {
			continue // its owner works in it; they are asked when it is to land
		}
		err = errors.Join(err, r.clean(ctx, &rec, i, time.Time{}))
	}
	return err
}

// clean has the box of an approach be what was judged, where the record says
// that it may not be. What its owner did in it since then is kept. The caller
// has the race's turn.
func (r *Races) clean(ctx context.Context, rec *forkbox.Race, i int, since time.Time) error {
	e := rec.Entries[i]
	if !e.Unclean || e.Saved == "" || e.Box == "" {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	if _, err := r.ledger.Snapshot(ctx, e.Box, e.Saved); err != nil {
		if forkbox.CodeOf(err) == forkbox.NotFound {
			return nil // the box is gone, or what was judged: who wants to land it finds out
		}
		return err
	}
	used, err := r.used(ctx, rec.Owner, e.Box, since)
	if err == nil {
		err = r.rollBackTo(ctx, rec.Owner, e.Box, e.Saved, used)
	}
	if err != nil {
		return err
	}
	r.sweep(ctx, *rec, e, since)
	return r.amend(ctx, rec, i, func(e *forkbox.Entry) { e.Unclean = false })
}

// rollBackTo has a box be a snapshot of it. What it was is forgotten, unless it
// is the owner's work: then it is kept, and what they run is not ended.
func (r *Races) rollBackTo(ctx context.Context, who forkbox.Owner, box, snapshot string, work bool) error {
	back, err := r.boxes.Rollback(ctx, who, box, forkbox.RollbackSpec{To: snapshot, Force: !work})
	if err == nil && !work {
		r.forget(ctx, who, box, back.Kept.ID)
	}
	return err
}

// amend changes an approach in the record of a race that is over.
func (r *Races) amend(ctx context.Context, rec *forkbox.Race, i int, change func(*forkbox.Entry)) error {
	rec.Entries = slices.Clone(rec.Entries)
	change(&rec.Entries[i])
	return r.ledger.UpdateRace(context.WithoutCancel(ctx), *rec)
}

// used says whether the owner has run something in a box of a race since then.
func (r *Races) used(ctx context.Context, who forkbox.Owner, box string, since time.Time) (bool, error) {
	if box == "" {
		return false, nil
	}
	execs, err := r.boxes.Execs(ctx, who, box)
	return slices.ContainsFunc(execs, func(x forkbox.Exec) bool { return x.Label == "" && x.Started.After(since) }), err
}

// The names of the snapshots that a race makes. They have its id in them: one
// that its owner calls "steps" must not be taken for what was judged.
func stepsName(race string) string  { return "steps-" + race }
func syncedName(race string) string { return "synced-" + race }
func pointName(race string) string  { return "point-" + race }

func stepsMessage(approach string) string  { return "what the steps of " + approach + " left" }
func syncedMessage(approach string) string { return approach + ", brought up to date" }

// sweep removes the snapshots that a race, or its rollbacks, made in a box and
// a daemon that died did not remove, but for what was judged. Where the owner
// used the box, what a rollback kept may be their work.
func (r *Races) sweep(ctx context.Context, rec forkbox.Race, e forkbox.Entry, since time.Time) {
	list, err := r.ledger.Snapshots(ctx, e.Box)
	if used, usedErr := r.used(ctx, rec.Owner, e.Box, since); err != nil || usedErr != nil || used {
		return
	}
	for _, s := range list {
		if s.ID != e.Saved && ours(rec.ID, e.Name, s) {
			r.forget(ctx, rec.Owner, e.Box, s.ID)
		}
	}
}

// ours says whether a race made a snapshot of the box of an approach.
func ours(race, approach string, s forkbox.Snapshot) bool {
	name := s.Name
	if s.Auto {
		name = strings.TrimPrefix(s.Message, "before the rollback to ")
	} else if s.Message != stepsMessage(approach) && s.Message != syncedMessage(approach) {
		return false
	}
	return strings.HasPrefix(name, stepsName(race)) || strings.HasPrefix(name, syncedName(race))
}

// forget removes a snapshot, unless a box was forked from it.
func (r *Races) forget(ctx context.Context, who forkbox.Owner, box, snapshot string) {
	err := r.boxes.RemoveSnapshot(context.WithoutCancel(ctx), who, box+"@"+snapshot, false)
	if code := forkbox.CodeOf(err); err != nil && code != forkbox.NotFound && code != forkbox.Busy && code != forkbox.Unavailable {
		r.log.Warn("cannot remove a snapshot", "box", box, "snapshot", snapshot, "error", err)
	}
}

// findOrMakeSnapshot makes a snapshot of the race's own, or finds the one that
// was made before a crash. The owner may have taken the name for another: that
// one is not used.
func (b *lane) findOrMakeSnapshot(ctx context.Context, name, message string) (s forkbox.Snapshot, err error) {
	if b.known != nil {
		list, err := b.ledger.Snapshots(b.uncancelled(), b.box.ID)
		if err != nil {
			return s, err
		}
		for _, s := range list {
			if strings.HasPrefix(s.Name, name) && s.Message == message && !s.Auto {
				return s, nil
			}
		}
	}
	return b.makeSnapshot(ctx, name, message)
}

func (b *lane) makeSnapshot(ctx context.Context, name, message string) (s forkbox.Snapshot, err error) {
	for n := 1; n <= mostNames; n++ {
		spec := forkbox.SnapshotSpec{Name: name, Message: message}
		if n > 1 {
			spec.Name = fmt.Sprintf("%s-%d", name, n)
		}
		if s, err = b.boxes.Snapshot(ctx, b.who, b.box.ID, spec); forkbox.CodeOf(err) != forkbox.Exists {
			return s, err
		}
	}
	return s, err
}
