package changes

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
	"github.com/forkbox/forkbox/internal/review"
	"github.com/forkbox/forkbox/internal/storage/land"
)

// Marks are what earlier applies of a box left in reality, so that they do not
// count as drift, nor what landed as a change.
func (m *Manager) Marks(ctx context.Context, box forkbox.Box) (*review.Marks, *review.Inodes, error) {
	t, err := m.traces(ctx, box)
	if err != nil {
		return nil, nil, err
	}
	if t.paths() < ManyMarks {
		return m.readMarks(t)
	}
	return m.sharedMarks(ctx, box)
}

// traces are the applies whose marks a box has, oldest first.
type traces struct {
	box    forkbox.Box
	own    []forkbox.Receipt
	others []forkbox.Receipt // see othersUndone
	kin    []forkbox.Receipt // see kinUndone
}

func (m *Manager) traces(ctx context.Context, box forkbox.Box) (t traces, err error) {
	t.box = box
	if t.own, err = m.receiptsOf(ctx, box); err == nil {
		t.others, err = m.othersUndone(ctx, box)
	}
	if err == nil {
		t.kin, err = m.kinUndone(ctx, box, t.others)
	}
	return t, err
}

// paths is how many they landed.
func (t traces) paths() (n int) {
	for _, r := range slices.Concat(t.own, t.others, t.kin) {
		n += r.Paths
	}
	return n
}

// readMarks reads them from the journals of the box's landings, and of those of
// others that were undone.
func (m *Manager) readMarks(t traces) (*review.Marks, *review.Inodes, error) {
	marks, left := &review.Marks{}, &review.Inodes{}
	m.readPutBack(t.box.ID, left)
	for _, r := range t.own {
		if r.State == forkbox.Landing || r.State == forkbox.Torn {
			continue
		}
		if err := m.mark(r, t.box, marks, left); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, nil, forkbox.Wrap("read receipt "+r.ID, err)
		}
	}
	m.readOwnCopies(t.box.ID, marks, left)
	if err := m.markKin(t.kin, marks); err != nil {
		return nil, nil, err
	}
	return marks, left, m.markOthers(t.box, t.others, left)
}

// kinUndone are applies of boxes that share a past with the box, which landed
// before its fence and were undone after it: what they landed may be what the
// box has from that past. Of a box that is gone it is not known whether it did.
func (m *Manager) kinUndone(ctx context.Context, box forkbox.Box, others []forkbox.Receipt) (kin []forkbox.Receipt, err error) {
	for _, a := range box.Lineage {
		list, err := m.core.Ledger.ReceiptsOf(ctx, a.Box)
		if err != nil {
			return nil, err
		}
		for _, r := range list {
			if r.Created.After(a.Until) && takenBack(r, box) {
				kin = append(kin, r)
			}
		}
	}
	for _, r := range others {
		if !takenBack(r, box) {
			continue
		}
		other, err := m.core.Ledger.Box(ctx, r.Box)
		if err != nil && !core.IsNotFound(err) {
			return nil, err
		}
		if err != nil || related(box, other) {
			kin = append(kin, r)
		}
	}
	return kin, nil
}

// takenBack says whether an apply landed before a box's fence and was undone
// after it.
func takenBack(r forkbox.Receipt, box forkbox.Box) bool {
	return r.Undone.After(box.Base.Fence) && !r.Created.After(box.Base.Fence)
}

// related says whether one box was forked from the other, or both from a third.
func related(a, b forkbox.Box) bool {
	past := func(box forkbox.Box) []string {
		ids := []string{box.ID}
		for _, x := range box.Lineage {
			ids = append(ids, x.Box)
		}
		return ids
	}
	return slices.ContainsFunc(past(a), func(id string) bool { return slices.Contains(past(b), id) })
}

func (m *Manager) markKin(kin []forkbox.Receipt, marks *review.Marks) error {
	for _, r := range kin {
		err := land.Entries(filepath.Join(m.core.Receipts, r.ID), func(x land.Entry) error {
			seen, _ := marks.Get(x.Path)
			seen.TakenBack = true
			marks.Set(x.Path, seen)
			return nil
		})
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return forkbox.Wrap("read receipt "+r.ID, err)
		}
	}
	return nil
}

// othersUndone are applies of other boxes that were taken back after the box's
// fence, oldest first.
func (m *Manager) othersUndone(ctx context.Context, box forkbox.Box) ([]forkbox.Receipt, error) {
	list, err := m.core.Ledger.Receipts(ctx, nil, forkbox.Undone)
	list = slices.DeleteFunc(list, func(r forkbox.Receipt) bool { return r.Box == box.ID || r.Undone.Before(box.Base.Fence) })
	slices.Reverse(list)
	return list, err
}

// markOthers adds what those left in reality: the same files, with another time
// on their inodes. Where those had not changed after this box's fence before,
// they have not now.
func (m *Manager) markOthers(box forkbox.Box, others []forkbox.Receipt, left *review.Inodes) error {
	for _, r := range others {
		err := land.Entries(filepath.Join(m.core.Receipts, r.ID), func(x land.Entry) error {
			if x.Old != nil && x.Now != nil && (x.Old.Ctime < box.Base.Fence.UnixNano() || left.Has(*x.Old)) {
				left.Add(*x.Now)
			}
			return nil
		})
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return forkbox.Wrap("read receipt "+r.ID, err)
		}
	}
	return nil
}

// receiptsOf are those of a box and, until it was forked from them, of its
// ancestors, oldest first.
func (m *Manager) receiptsOf(ctx context.Context, box forkbox.Box) (all []forkbox.Receipt, err error) {
	for _, a := range box.Lineage {
		list, err := m.core.Ledger.ReceiptsOf(ctx, a.Box)
		if err != nil {
			return nil, err
		}
		all = append(all, slices.DeleteFunc(list, func(r forkbox.Receipt) bool { return r.Created.After(a.Until) })...)
	}
	own, err := m.core.Ledger.ReceiptsOf(ctx, box.ID)
	return append(all, own...), err
}

func (m *Manager) mark(r forkbox.Receipt, box forkbox.Box, marks *review.Marks, left *review.Inodes) error {
	return land.Entries(filepath.Join(m.core.Receipts, r.ID), func(x land.Entry) error {
		var tag review.Tag
		if len(x.Tag) > 0 {
			if err := json.Unmarshal(x.Tag, &tag); err != nil {
				return err
			}
		}
		seen, _ := marks.Get(x.Path)
		seen.TakenBack = seen.TakenBack || takenBack(r, box)
		switch {
		case !r.Undone.IsZero() && tag.Drifted:
			if seen.TakenBack {
				marks.Set(x.Path, seen)
			}
			return nil // as it was: changed by reality
		case r.Undone.IsZero():
			seen = review.Mark{Box: tag.Box, Whole: !tag.Partial, Merged: tag.Merged, Deleted: tag.Kind == forkbox.Deleted, Added: tag.Kind == forkbox.Added || tag.Kind == forkbox.Type || seen.Added && tag.Kind == forkbox.Mode,
				Landed: r.Created.After(box.Base.Fence), Receipt: r.ID}
		}
		seen.Nothing = !r.Undone.IsZero() && tag.Kind == forkbox.Added && x.Now == nil
		seen.Reality = forkbox.Identity{}
		if x.Now != nil {
			seen.Reality = *x.Now
		}
		if x.Now != nil && !seen.Merged {
			left.Add(*x.Now)
		}
		if x.Op == land.Move && x.Old != nil {
			left.Add(*x.Old) // the directory that is moved, wherever it is now
		}
		if x.Kept != nil && !tag.Drifted {
			left.Add(*x.Kept) // it may have other names
		}
		marks.Set(x.Path, seen)
		return nil
	})
}
