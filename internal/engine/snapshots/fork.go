package snapshots

import (
	"context"
	"slices"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
)

// SnapshotFor is the one that was named, or one made now, automatically. One
// that says the same as the box, because nothing was written since, is used
// again.
func (m *Manager) SnapshotFor(ctx context.Context, h *core.Handle, box *forkbox.Box, name string, at bool, what string) (forkbox.Snapshot, error) {
	if at {
		if err := core.Usable("fork", *box); err != nil {
			return forkbox.Snapshot{}, err
		}
		return m.findSnapshot(ctx, *box, name)
	}
	if s, ok := m.unchangedSince(ctx, h, box); ok {
		return s, nil
	}
	return m.snapshot(ctx, h, box, forkbox.SnapshotSpec{}, what+"-")
}

// unchangedSince is the snapshot that a box at rest still is. A sync since has told
// the box of edits to reality that one made of the snapshot would take for drift.
func (m *Manager) unchangedSince(ctx context.Context, h *core.Handle, box *forkbox.Box) (none forkbox.Snapshot, ok bool) {
	p, err := m.core.Layers("fork")
	if err != nil || box.At == "" || m.SettleAtRest(ctx, "fork", h, box) != nil {
		return none, false
	}
	if blank, err := p.Blank(ctx, *box); err != nil || !blank {
		return none, false
	}
	s, err := m.findSnapshot(ctx, *box, box.At)
	if err != nil || !slices.Equal(s.Layers, box.Layers) || !s.Base.Fence.Equal(box.Base.Fence) {
		return none, false
	}
	return s, true
}

// Lineage is the past of what begins as a snapshot.
func Lineage(parent forkbox.Box, s forkbox.Snapshot) []forkbox.Ancestor {
	return append(slices.Clone(parent.Lineage), forkbox.Ancestor{Box: parent.ID, Until: s.Created})
}
