package landing

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/bases"
	"github.com/forkbox/forkbox/internal/engine/core"
	"github.com/forkbox/forkbox/internal/review"
	"github.com/forkbox/forkbox/internal/storage/held"
	"github.com/forkbox/forkbox/internal/storage/land"
)

// Sync merges what reality changed after the fence into the box, and moves the
// fence. What the box did not change shows through anyway. Conflicts get
// markers in the box and nowhere else.
func (m *Manager) Sync(ctx context.Context, who forkbox.Owner, ref string) (forkbox.SyncResult, error) {
	const op = "sync"
	s := &syncing{Manager: m}
	_, err := m.core.Change(ctx, op, who, ref, func(ctx context.Context, h *core.Handle, box *forkbox.Box) error {
		if err := onReality(op, *box); err != nil {
			return err
		}
		if err := m.adaptAtRest(ctx, op, h, box); err != nil {
			return err
		}
		s.h, s.box = h, box
		if err := s.uncover(ctx); err != nil {
			return err
		}
		return s.run(ctx)
	})
	return s.result, err
}

// syncing is one sync while it goes on. The caller has the box's turn.
type syncing struct {
	*Manager
	h       *core.Handle
	box     *forkbox.Box
	view    *review.View
	result  forkbox.SyncResult
	landing *land.Landing
	root    *os.File     // the box's, while it is written to
	goes    *held.Search // what is replaced or deleted, nil where nothing runs in the box
	goOn    func() error // has what runs in the box go on, nil where nothing does
	bases   keptBases
	unseen  []forkbox.Caution // what uncover could not show, as far as it is listed
	covered int               // how many there are
}

// uncover has the box show what reality made in directories of the box's own,
// which have landed: there it shows only what it has itself.
func (s *syncing) uncover(ctx context.Context) error {
	const op = "sync"
	s.unseen = []forkbox.Caution{}
	view, err := s.Manager.changes.View(ctx, *s.box)
	if err != nil {
		return err
	}
	changes, err := view.Unseen(ctx)
	provider, ok := s.core.Provider.(discarder)
	if err != nil || !ok || len(changes) == 0 {
		return err
	}
	if err := s.boxes.BringToRest(ctx, op, s.h, s.box); forkbox.CodeOf(err) == forkbox.Busy {
		if s.covered = len(changes); s.covered > maxSynced {
			return forkbox.Errorf(forkbox.Busy, op, "reality has more than %d paths that the box can be shown only when nothing runs in it", maxSynced).
				Hint("stop what runs, and sync again: forkbox stop %s", s.box.Name)
		}
		for _, c := range changes {
			s.unseen = append(s.unseen, forkbox.Caution{Path: c.Path, Why: "it is in a directory of the box's own, and something runs in the box: stop it, and sync again"})
		}
		return nil
	} else if err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	if err := s.shelf.PrepareLayers(ctx, s.box); err != nil {
		return err
	}
	return provider.Discard(ctx, *s.box, changes)
}

func (s *syncing) run(ctx context.Context) (err error) {
	// Before reality is read: what it changes from now on is for next time.
	s.result = forkbox.SyncResult{Fence: s.core.FenceNow(), Merged: []string{}, Taken: []string{}, Conflicts: []forkbox.Caution{}, Unseen: s.unseen}
	s.result.Count.Unseen = s.covered
	if err := s.lookAgain(ctx); err != nil {
		return err
	}
	defer s.rest(context.WithoutCancel(ctx))
	if err := s.standStill(ctx); err != nil {
		return err
	}
	if s.view, err = s.Manager.changes.View(ctx, *s.box); err != nil {
		return err
	}
	if err = s.stage(ctx); err == nil {
		err = s.notHeld()
	}
	if err != nil {
		return errors.Join(err, s.abort())
	}
	ctx = context.WithoutCancel(ctx)
	if s.landing != nil {
		err = s.landing.Commit(ctx)
	}
	if err == nil {
		err = s.moveFence(ctx)
	}
	if s.box.Syncing != nil {
		err = errors.Join(err, s.decideSync(ctx, s.root, s.box))
	}
	return err
}

// still is an instance whose processes can be made to stand still.
type still interface {
	// StandStill has them do so, unless they do already; goOn takes that back.
	// Nothing is started meanwhile.
	StandStill(ctx context.Context) (goOn func() error, err error)
	// PIDs are the numbers that the host knows them by.
	PIDs() []int
}

// standStill has what runs in the box stop, from before its files are read until
// they are replaced: what it wrote in between would be in neither version.
func (s *syncing) standStill(ctx context.Context) error {
	a, err := s.boxes.Find(ctx, s.h, s.box)
	if err != nil || a == nil || s.boxes.InUse(ctx, s.h, *s.box) == nil {
		return err
	}
	running, ok := a.Instance.(still)
	if !ok {
		return s.boxes.BringToRest(ctx, "sync", s.h, s.box)
	}
	if s.goOn, err = running.StandStill(ctx); err != nil {
		return err
	}
	if s.root, err = a.Instance.Root(); err == nil {
		s.goes = held.InBox(s.root, running.PIDs())
	}
	return err
}

// notHeld refuses to take files from under a process of the box that has them
// open: what it writes next would go to a file that no longer has a name.
func (s *syncing) notHeld() error {
	if s.goes == nil {
		return nil
	}
	found := s.goes.Find()
	if len(found) == 0 {
		return nil
	}
	err := forkbox.Errorf(forkbox.Busy, "sync", "processes in the box write to what reality changed too, and nothing was touched").
		Hint("let them end, or stop the box, and sync again: forkbox stop %s", s.box.Name).
		Hint("see them: forkbox ps %s", s.box.Name)
	err.Items = found
	return err
}

func (s *syncing) stage(ctx context.Context) error {
	chosen := review.Choose(forkbox.Selection{All: true}, nil, bases.NewSorter(s.view.Root, *s.box))
	marks := s.view.Marks
	return s.view.EachWith(ctx, chosen, func(x *review.Entry) error {
		if m, ok := marks.Get(x.Path); ok && m.Whole && s.view.Landed(x) && !s.view.Since(x) {
			return nil // reality still has what landed
		}
		u, err := s.view.Update(ctx, x)
		if err != nil || u == nil {
			return err
		}
		return s.take(ctx, x, u)
	})
}

func (s *syncing) take(ctx context.Context, x *review.Entry, u *review.Update) error {
	if len(u.Items) > 0 {
		if err := s.open(ctx); err != nil {
			return err
		}
	}
	landed := isAsItLanded(s.view, x)
	for _, item := range u.Items {
		if landed {
			item.Tag = asItLanded
		}
		// What the box has there, seen through its mounts.
		var err error
		if item.Expect, err = land.Look(s.root, item.Path); err != nil {
			return err
		}
		if s.goes != nil {
			tellGoing(s.goes, item)
		}
		if _, err := s.landing.Stage(ctx, item); err != nil {
			return err
		}
	}
	if err := s.tell(x.Path, u); err != nil || u.Base == nil {
		return err
	}
	return s.bases.add(s.core.Receipts, keptBase{[]byte(x.Path), u.Base, u.BaseMode})
}

// maxSynced is how many paths of a kind a sync lists, and how many a box may
// have undecided: they are part of its record, which is read whenever it is
// used, and the owner will not settle more of them one by one.
const maxSynced = 10000

func (s *syncing) tell(path string, u *review.Update) error {
	r := &s.result
	switch {
	case u.Conflict != "":
		if r.Count.Conflicts++; r.Count.Conflicts > maxSynced {
			return forkbox.Errorf(forkbox.Conflict, "sync", "reality and the box have changed the same in more than %d paths, and none was touched", maxSynced).
				Hint("have reality's where the box's are not needed: forkbox discard %s PATH…", s.box.Name).
				Hint("or decide for all of them: forkbox apply --conflict theirs %s (the box wins), or ours", s.box.Name)
		}
		r.Conflicts = append(r.Conflicts, forkbox.Caution{Path: path, Why: u.Conflict})
		if len(u.Items) > 0 || u.Base != nil {
			r.Count.Marked++
		}
	case u.Taken:
		if r.Count.Taken++; len(r.Taken) < maxSynced {
			r.Taken = append(r.Taken, path)
		}
	default:
		if r.Count.Merged++; len(r.Merged) < maxSynced {
			r.Merged = append(r.Merged, path)
		}
	}
	return nil
}

// open wakes the box, whose files are written through its own mounts, and writes
// down that this is about to happen.
func (s *syncing) open(ctx context.Context) error {
	if s.landing != nil {
		return nil
	}
	a, err := s.boxes.Wake(ctx, s.h, s.box)
	if err != nil {
		return err
	}
	if s.root == nil {
		if s.root, err = a.Instance.Root(); err != nil {
			return err
		}
	}
	if err = os.MkdirAll(s.core.Receipts, 0o700); err != nil { // nothing may have been applied yet
		return err
	}
	box := *s.box
	box.Syncing = &forkbox.Syncing{Landing: syncName(box.ID), Fence: s.result.Fence}
	if err := s.core.Ledger.UpdateBox(ctx, box); err != nil {
		return err
	}
	*s.box = box
	s.landing, err = land.Begin(ctx, s.syncConfig(s.root, box))
	return err
}

// abort ends a sync that changed nothing.
func (s *syncing) abort() (err error) {
	if s.landing != nil {
		err = s.landing.Abort()
	}
	if s.box.Syncing != nil {
		err = errors.Join(err, s.decideSync(context.Background(), s.root, s.box))
	}
	return err
}

func (s *syncing) rest(ctx context.Context) {
	if s.root != nil {
		s.root.Close()
	}
	s.bases.close()
	if s.goOn != nil {
		if err := s.goOn(); err != nil {
			s.core.Log.ErrorContext(ctx, "cannot have a box go on after a sync", "box", s.box.ID, "error", err)
		}
	}
	s.boxes.ForgetReality(ctx, s.h, s.box)
}

// synced is the event of a sync that is done.
func (s *syncing) synced(box forkbox.Box) forkbox.Event {
	n := s.result.Count
	text := fmt.Sprintf("%d paths taken, %d merged, %d in conflict", n.Taken, n.Merged, n.Conflicts)
	return core.With(s.core.About(box, forkbox.EventBoxSynced, text), forkbox.EventData{Count: n.Taken + n.Merged + n.Conflicts})
}

// moveFence makes what reality is now the box's base. The record comes first:
// what is kept for the old fence counts for nothing then, and it has to be there
// should the record not be written.
func (s *syncing) moveFence(ctx context.Context) error {
	box := *s.box
	box.Base.Fence, box.Stale, box.Unresolved = s.result.Fence, nil, nil
	for _, c := range s.result.Conflicts {
		box.Unresolved = append(box.Unresolved, c.Path)
	}
	for _, c := range s.unseen {
		box.Unresolved = append(box.Unresolved, c.Path)
	}
	if err := s.core.Ledger.UpdateBox(ctx, box, s.synced(box)); err != nil {
		return err
	}
	*s.box = box
	defer s.Manager.bases.Forked(box)
	book := s.Manager.bases.Book(box, s.view.Root)
	if book == nil {
		return nil
	}
	if err := book.Reset(box.Base.Fence); err != nil {
		return forkbox.Wrap("sync", err)
	}
	err := s.bases.each(func(b keptBase) error { return book.PinBytes(string(b.Path), b.Content, b.Mode) })
	return forkbox.Wrap("sync", err)
}
