package race

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/forkbox/forkbox"
)

func (f fakeBoxes) Snapshot(ctx context.Context, who forkbox.Owner, ref string, spec forkbox.SnapshotSpec) (s forkbox.Snapshot, err error) {
	err = f.do(func() error {
		b, err := f.find(who, ref)
		if err != nil {
			return err
		}
		f.made++
		s = forkbox.Snapshot{ID: fmt.Sprintf("s%011x", f.made), Box: b.ID, Name: spec.Name, Owner: who, Created: time.Now()}
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
		files, has := b.snapshots[spec.To]
		if !has {
			return forkbox.Errorf(forkbox.NotFound, "roll back", "%s has no snapshot %q", b.Name, spec.To)
		}
		f.made++
		r.Kept = forkbox.Snapshot{ID: fmt.Sprintf("s%011x", f.made), Box: b.ID, Name: fmt.Sprintf("auto-%d", f.made), Auto: true}
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

// Diff has a change for each file that is not as in reality.
func (f fakeBoxes) Diff(_ context.Context, who forkbox.Owner, ref string, _ forkbox.DiffSpec, yield func(forkbox.Change) error) (sum forkbox.Summary, err error) {
	err = f.do(func() error {
		name, snapshot, at := forkbox.SplitRef(ref)
		b, err := f.find(who, name)
		if err != nil {
			return err
		}
		files := b.files
		if at {
			files = b.snapshots[snapshot]
		}
		for _, path := range slices.Sorted(maps.Keys(files)) {
			if text, was := f.reality[path]; was && text == files[path] {
				continue
			}
			c := forkbox.Change{Path: "/w/" + path, Kind: forkbox.Added, Type: "file", Scope: forkbox.Workspace, Plus: len(files[path])}
			sum.Workspace.Add(c)
			if err := yield(c); err != nil {
				return err
			}
		}
		return nil
	})
	return sum, err
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
				b.files["conflict"] = "<<<<"
			}
		}
		b.files["synced"] = "yes"
		f.drift = nil
		return nil
	})
	return s, err
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
