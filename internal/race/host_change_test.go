package race

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine"
)

func (f fakeBoxes) Snapshot(ctx context.Context, who forkbox.Owner, ref string, spec forkbox.SnapshotSpec) (s forkbox.Snapshot, err error) {
	err = f.do(func() error {
		b, err := f.find(who, ref)
		if err != nil {
			return err
		}
		f.made++
		s = forkbox.Snapshot{ID: fmt.Sprintf("s%011x", f.made), Box: b.ID, Name: spec.Name, Message: spec.Message, Owner: who, Created: time.Now()}
		if s.Name == "" {
			s.Name = fmt.Sprint(f.made)
		}
		if err := f.ledger.AddSnapshot(ctx, s, b.Box); err != nil {
			return err
		}
		b.snapshots[s.ID] = maps.Clone(b.files)
		return nil
	})
	return s, err
}

func (f fakeBoxes) Rollback(ctx context.Context, who forkbox.Owner, ref string, spec forkbox.RollbackSpec) (r forkbox.Rollback, err error) {
	err = f.do(func() error {
		b, err := f.find(who, ref)
		if err != nil {
			return err
		}
		if err := f.refuse["roll back"]; err != nil {
			return err
		}
		files, has := b.snapshots[spec.To]
		if !has {
			return forkbox.Errorf(forkbox.NotFound, "roll back", "%s has no snapshot %q", b.Name, spec.To)
		}
		f.made++
		r.Kept = forkbox.Snapshot{ID: fmt.Sprintf("s%011x", f.made), Box: b.ID, Name: fmt.Sprintf("auto-%d", f.made), Auto: true}
		if to, err := f.ledger.Snapshot(ctx, b.ID, spec.To); err == nil {
			r.Kept.Message = "before the rollback to " + to.Name
		}
		if err := f.ledger.AddSnapshot(ctx, r.Kept, b.Box); err != nil {
			return err
		}
		b.snapshots[r.Kept.ID] = b.files
		b.end(forkbox.Exit{Code: 143, Cause: forkbox.CauseStopped})
		b.files = maps.Clone(files)
		return nil
	})
	return r, err
}

func (f fakeBoxes) RemoveSnapshot(ctx context.Context, who forkbox.Owner, ref string, _ bool) error {
	return f.do(func() error {
		name, snapshot, _ := forkbox.SplitRef(ref)
		b, err := f.find(who, name)
		if err != nil {
			return err
		}
		delete(b.snapshots, snapshot)
		return f.ledger.DeleteSnapshot(ctx, snapshot)
	})
}

// filesOf are those of a box, or of a snapshot.
func (f fakeBoxes) filesOf(who forkbox.Owner, ref string) (map[string]string, error) {
	name, snapshot, at := forkbox.SplitRef(ref)
	b, err := f.find(who, name)
	switch {
	case err != nil:
		return nil, err
	case at:
		return b.snapshots[snapshot], nil
	}
	return b.files, nil
}

// DiffSince has a change for each file that is not as in reality, or in a
// snapshot.
func (f fakeBoxes) DiffSince(_ context.Context, who forkbox.Owner, ref, point string, _ forkbox.DiffSpec, yield func(forkbox.Change) error) (sum forkbox.Summary, err error) {
	err = f.do(func() error {
		files, err := f.filesOf(who, ref)
		if err != nil {
			return err
		}
		before := f.reality
		if point != "" {
			if before, err = f.filesOf(who, point); err != nil {
				return err
			}
		}
		for _, path := range slices.Sorted(maps.Keys(files)) {
			if text, was := before[path]; was && text == files[path] {
				continue
			}
			c := forkbox.Change{Path: "/w/" + path, Kind: forkbox.Added, Type: "file", Scope: forkbox.Workspace, Plus: len(files[path])}
			if _, was := before[path]; was {
				c.Kind = forkbox.Modified
			}
			sum.Workspace.Add(c)
			if err := yield(c); err != nil {
				return err
			}
		}
		return nil
	})
	return sum, err
}

// PutBack refuses a box in which something runs, as the engine does.
func (f fakeBoxes) PutBack(_ context.Context, who forkbox.Owner, ref, point string, wanted func(forkbox.Change) bool) error {
	return f.do(func() error {
		b, err := f.find(who, ref)
		if err == nil && b.State == forkbox.Running {
			err = forkbox.Errorf(forkbox.Busy, "put changes back", "something runs in it")
		}
		before := f.reality
		if err == nil && point != "" {
			before, err = f.filesOf(who, point)
		}
		if err = errors.Join(err, f.refuse["put back"]); err != nil {
			return err
		}
		for path, text := range b.files {
			was, had := before[path]
			c := forkbox.Change{Path: "/w/" + path, Kind: forkbox.Added, Type: "file", Scope: forkbox.Workspace}
			if had {
				c.Kind = forkbox.Modified
			}
			switch {
			case had && was == text || !wanted(c):
			case had:
				b.files[path] = was
			default:
				delete(b.files, path)
			}
		}
		return nil
	})
}

func (f fakeBoxes) Status(_ context.Context, who forkbox.Owner, ref string) (s forkbox.BoxStatus, err error) {
	err = f.do(func() error {
		_, err := f.find(who, ref)
		s = forkbox.BoxStatus{Root: "/w", Drift: f.drift, Behind: len(f.drift)}
		return err
	})
	return s, err
}

// Sync brings drift into the box; what both changed is a conflict.
func (f fakeBoxes) Sync(_ context.Context, who forkbox.Owner, ref string) (s forkbox.SyncResult, err error) {
	err = f.do(func() error {
		b, err := f.find(who, ref)
		if err != nil {
			return err
		}
		for _, d := range f.drift {
			if d.Outcome == "conflict" {
				s.Conflicts = append(s.Conflicts, forkbox.Caution{Path: d.Path, Why: "both changed it"})
				s.Count.Conflicts++
				b.files["conflict"] = "<<<<"
			}
		}
		b.files["synced"] = "yes"
		f.drift = nil
		return nil
	})
	return s, err
}

func (f fakeBoxes) StillIs(_ context.Context, who forkbox.Owner, ref, snapshot string) (same bool, err error) {
	err = f.do(func() error {
		b, err := f.find(who, ref)
		if err != nil {
			return err
		}
		same, err = b.stillIs(snapshot)
		return err
	})
	return same, err
}

func (b *fakeBox) stillIs(snapshot string) (bool, error) {
	for _, x := range b.execs {
		if x.Exit == nil {
			return false, forkbox.Errorf(forkbox.Busy, "compare box", "something runs in it")
		}
	}
	files, has := b.snapshots[snapshot]
	return has && maps.Equal(files, b.files), nil
}

// Land is Apply of what a snapshot is.
func (f fakeBoxes) Land(ctx context.Context, who forkbox.Owner, ref, snapshot string, spec forkbox.ApplySpec) (r forkbox.Receipt, err error) {
	err = f.do(func() error {
		b, err := f.find(who, ref)
		if err != nil {
			return err
		}
		if same, err := b.stillIs(snapshot); snapshot != "" && (!same || err != nil) {
			return errors.Join(err, forkbox.Errorf(forkbox.Unconfirmed, "apply", "%w", engine.ErrAltered))
		}
		if err := f.refuse["land"]; err != nil {
			return err
		}
		if f.moved > 0 && snapshot != "" {
			f.moved--
			f.drift = []forkbox.Drift{{Path: "/w/other", Both: true, Outcome: "clean"}}
			return forkbox.Errorf(forkbox.Conflict, "apply", "%w", engine.ErrDrifted)
		}
		f.choice = spec.Conflict
		return nil
	})
	if err != nil || spec.DryRun {
		return r, err
	}
	return f.Apply(ctx, who, ref, spec)
}

// Apply makes the box's files reality's.
func (f fakeBoxes) Apply(ctx context.Context, who forkbox.Owner, ref string, spec forkbox.ApplySpec) (r forkbox.Receipt, err error) {
	err = f.do(func() error {
		b, err := f.find(who, ref)
		if err != nil {
			return err
		}
		f.made++
		r = forkbox.Receipt{ID: fmt.Sprintf("r%d", f.made), Box: b.ID, BoxName: b.Name, Owner: who, State: forkbox.Applied, Created: time.Now(), Message: spec.Message}
		maps.Copy(f.reality, b.files)
		return f.ledger.AddReceipt(ctx, r)
	})
	return r, err
}

// undo takes a receipt back.
func (h *host) undo(id string) error {
	r, err := h.ledger.Receipt(context.Background(), id)
	if err != nil {
		return err
	}
	r.State, r.Undone = forkbox.Undone, time.Now()
	return h.ledger.UpdateReceipt(context.Background(), r)
}
