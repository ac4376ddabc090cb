package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/land"
	"github.com/forkbox/forkbox/internal/review"
)

// Sync merges what reality changed after the fence into the box, and moves the
// fence. What the box did not change shows through anyway. Conflicts get
// markers in the box and nowhere else.
func (e *Engine) Sync(ctx context.Context, who forkbox.Owner, ref string) (forkbox.SyncResult, error) {
	const op = "sync"
	s := &syncing{Engine: e}
	_, err := e.change(ctx, op, who, ref, func(ctx context.Context, h *handle, box *forkbox.Box) error {
		if err := onReality(op, *box); err != nil {
			return err
		}
		if err := e.adaptedAtRest(ctx, op, h, box); err != nil {
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
	*Engine
	h       *handle
	box     *forkbox.Box
	view    *review.View
	result  forkbox.SyncResult
	landing *land.Landing
	root    *os.File // the box's, while it is written to
	bases   keptBases
	unseen  []forkbox.Caution // what uncover could not show, as far as it is listed
	covered int               // how many there are
}

// uncover has the box show what reality made in directories of the box's own,
// which have landed: there it shows only what it has itself.
func (s *syncing) uncover(ctx context.Context) error {
	const op = "sync"
	s.unseen = []forkbox.Caution{}
	view, err := s.Engine.view(ctx, *s.box)
	if err != nil {
		return err
	}
	changes, err := view.Unseen(ctx)
	provider, ok := s.provider.(discarder)
	if err != nil || !ok || len(changes) == 0 {
		return err
	}
	if err := s.quiet(ctx, op, s.h, s.box); forkbox.CodeOf(err) == forkbox.Busy {
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
	if err := s.prepared(ctx, s.box); err != nil {
		return err
	}
	return provider.Discard(ctx, *s.box, changes)
}

func (s *syncing) run(ctx context.Context) (err error) {
	// Before reality is read: what it changes from now on is for next time.
	s.result = forkbox.SyncResult{Fence: s.fence(), Merged: []string{}, Taken: []string{}, Conflicts: []forkbox.Caution{}, Unseen: s.unseen}
	s.result.Count.Unseen = s.covered
	if err := s.lookAgain(ctx); err != nil {
		return err
	}
	if s.view, err = s.Engine.view(ctx, *s.box); err != nil {
		return err
	}
	defer s.rest(context.WithoutCancel(ctx))
	if err = s.stage(ctx); err != nil {
		return errors.Join(err, s.abort())
	}
	if s.landing != nil {
		if err := s.landing.Commit(context.WithoutCancel(ctx)); err != nil {
			return err
		}
	}
	return s.moveFence(context.WithoutCancel(ctx))
}

func (s *syncing) stage(ctx context.Context) error {
	chosen := review.Choose(forkbox.Selection{All: true}, nil, newSorter(s.view.Root, *s.box))
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
	for _, item := range u.Items {
		// What the box has there, seen through its mounts.
		var err error
		if item.Expect, err = land.Look(s.root, item.Path); err != nil {
			return err
		}
		if _, err := s.landing.Stage(ctx, item); err != nil {
			return err
		}
	}
	if err := s.tell(x.Path, u); err != nil || u.Base == nil {
		return err
	}
	return s.bases.add(s.receipts, keptBase{x.Path, u.Base, u.BaseMode})
}

// maxSynced is how many paths of a kind a sync lists, and how many a box may
// have undecided: they are part of its record, which is read whenever it is
// used, and more of them nobody settles one by one.
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

// syncPrefix marks the directory of a landing in a box: it is no receipt.
const syncPrefix = "sync-"

// open wakes the box, whose files are written through its own mounts.
func (s *syncing) open(ctx context.Context) error {
	if s.landing != nil {
		return nil
	}
	a, err := s.wake(ctx, s.h, s.box)
	if err != nil {
		return err
	}
	if s.root, err = a.instance.Root(); err != nil {
		return err
	}
	if err = os.MkdirAll(s.receipts, 0o700); err != nil { // nothing may have been applied yet
		return err
	}
	s.landing, err = land.Begin(ctx, land.Config{Dir: filepath.Join(s.receipts, syncPrefix+newID()), Root: s.root})
	return err
}

func (s *syncing) abort() error {
	if s.landing == nil {
		return nil
	}
	return s.landing.Abort()
}

func (s *syncing) rest(ctx context.Context) {
	if s.root != nil {
		s.root.Close()
	}
	s.bases.close()
	s.forgetReality(ctx, s.h, s.box)
}

// forgetReality stops a box that nothing runs in, after reality changed under
// it: its mounts may remember what was there before, and then `rm -r` fails, or
// a file is shown that is none. It is awake again when it is used. The caller
// has the box's turn.
func (e *Engine) forgetReality(ctx context.Context, h *handle, box *forkbox.Box) {
	if box.Pinned || e.inUse(ctx, h, *box) != nil {
		return
	}
	if a, err := e.found(ctx, h, box); err == nil && a != nil {
		if err := e.halt(ctx, h, a, box, e.stopGrace); err != nil {
			e.log.Warn("cannot send a box to rest", "box", box.ID, "error", err)
		}
	}
}

// moveFence makes what reality is now the box's base.
func (s *syncing) moveFence(ctx context.Context) error {
	box := *s.box
	box.Base.Fence, box.Stale, box.StaleBy, box.Unresolved = s.result.Fence, "", "", nil
	for _, c := range s.result.Conflicts {
		box.Unresolved = append(box.Unresolved, c.Path)
	}
	for _, c := range s.unseen {
		box.Unresolved = append(box.Unresolved, c.Path)
	}
	if book := s.book(box, s.view.Root); book != nil {
		if err := book.Reset(box.Base.Fence); err != nil {
			return forkbox.Wrap("sync", err)
		}
		err := s.bases.each(func(b keptBase) error { return book.PinBytes(b.Path, b.Content, b.Mode) })
		if err != nil {
			return forkbox.Wrap("sync", err)
		}
	}
	if err := s.ledger.UpdateBox(ctx, box); err != nil {
		return err
	}
	*s.box = box
	s.forked(box)
	return nil
}

// sweepSyncs removes what interrupted syncs left. What they had written into a
// box is the box's; the fence did not move, so the next sync goes over it again.
func (e *Engine) sweepSyncs() {
	entries, _ := os.ReadDir(e.receipts)
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), syncPrefix) {
			_ = os.RemoveAll(filepath.Join(e.receipts, entry.Name()))
		}
	}
}
