package snapshots

import (
	"context"
	"slices"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
)

// resolveAt finds BOX, or BOX@SNAPSHOT as if it were a box.
func (m *Manager) resolveAt(ctx context.Context, op string, who forkbox.Owner, ref string) (forkbox.Box, error) {
	name, snapshot, at := forkbox.SplitRef(ref)
	box, err := m.core.Resolve(ctx, who, name)
	if err == nil {
		err = core.Usable(op, box)
	}
	if err == nil && (box.Saving+box.Rebase != "" || box.Syncing != nil) {
		box, err = m.waitSettled(ctx, op, box)
	}
	if err != nil || !at {
		return box, err
	}
	s, err := m.findSnapshot(ctx, box, snapshot)
	if err != nil {
		return box, err
	}
	box.Bare, box.Layers, box.Base, box.At = true, s.Layers, s.Base, s.ID
	box.Name += "@" + s.Name
	return box, nil
}

// waitSettled waits until what is being done to a box's layers, or by a sync to its
// files, is done.
func (m *Manager) waitSettled(ctx context.Context, op string, box forkbox.Box) (forkbox.Box, error) {
	box, h, unlock, err := m.core.TakeID(ctx, box.ID)
	if err != nil {
		return box, err
	}
	defer unlock()
	if err = m.boxes.SettleSync(ctx, h, &box); err == nil && box.Rebase != "" {
		err = forkbox.Errorf(forkbox.Busy, op, "%s has not been adapted to what landed: %s", box.Name, box.Note).
			Hint("run something in it to try again: forkbox exec %s -- true", box.Name)
	}
	return box, err
}

// HoldAt is resolveAt, and keeps the layers of a snapshot until release is
// called, also when its owner removes it meanwhile.
func (m *Manager) HoldAt(ctx context.Context, op string, who forkbox.Owner, ref string) (forkbox.Box, func(), error) {
	box, err := m.resolveAt(ctx, op, who, ref)
	if err != nil || !box.Bare {
		return box, func() {}, err
	}
	release := m.shelf.KeepLayers(append(slices.Clone(box.Layers), box.Base.Root)...)
	// From here on they stay; were they still there?
	if _, err := m.findSnapshot(ctx, box, box.At); err != nil {
		release()
		return box, nil, err
	}
	return box, func() { release(); m.shelf.SweepSoon() }, nil
}
