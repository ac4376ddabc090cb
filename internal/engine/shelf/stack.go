package shelf

import (
	"context"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
)

// ShelveTop finishes what a crash interrupted, or what is done and not yet written
// down: what the box wrote has become a layer. The caller has the box's turn
// and writes the box.
func (m *Manager) ShelveTop(ctx context.Context, box *forkbox.Box) error {
	if box.Saving == "" {
		return nil
	}
	p, err := m.core.Layers("finish a snapshot")
	if err != nil {
		return err
	}
	if err := p.Shelve(ctx, *box, box.Saving); err != nil {
		return err
	}
	box.Saving = ""
	return nil
}

// PrepareLayers readies the layers of a box that is about to start. The caller has
// the box's turn and writes the box.
func (m *Manager) PrepareLayers(ctx context.Context, box *forkbox.Box) error {
	p, ok := m.core.Provider.(core.Layered)
	if !ok {
		return nil
	}
	if err := m.ShelveTop(ctx, box); err != nil {
		return err
	}
	if err := m.Adapt(ctx, box); err != nil {
		return err
	}
	m.Shorten(box)
	layers, err := p.Settle(ctx, *box)
	if err != nil {
		return err
	}
	box.Layers = layers
	return nil
}

// FinishSaving has the layers of boxes be what the ledger says, after a crash.
func (m *Manager) FinishSaving(ctx context.Context, boxes []forkbox.Box) {
	for i := range boxes {
		box := &boxes[i]
		if box.Saving == "" {
			continue
		}
		err := m.ShelveTop(ctx, box)
		if err == nil {
			err = m.core.Ledger.UpdateBox(ctx, *box)
		}
		if err != nil {
			m.core.Log.ErrorContext(ctx, "cannot finish a snapshot", "box", box.ID, "error", err)
		}
	}
}
