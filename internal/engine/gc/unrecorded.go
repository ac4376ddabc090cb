package gc

import (
	"context"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
	"github.com/forkbox/forkbox/internal/engine/shelf"
)

// RestoreUnrecorded gives boxes back what a power cut left without an owner. Where that
// is more than one layer it is not known how they lie over each other; then they
// are kept, and the box says so.
func (m *Manager) RestoreUnrecorded(ctx context.Context) error {
	p, ok := m.core.Provider.(core.Layered)
	if !ok {
		return nil
	}
	there, err := p.Layers(ctx)
	if err != nil || len(there) == 0 {
		return err
	}
	needed, err := m.shelf.Needed(ctx)
	if err != nil {
		return err
	}
	lost := map[string][]string{}
	for _, layer := range there {
		if needed[layer] > 0 {
			continue
		}
		if box := m.shelf.Unrecorded(ctx, layer); box != nil {
			lost[box.ID] = append(lost[box.ID], layer)
		}
	}
	for id, layers := range lost {
		if err := m.restore(ctx, p, id, layers); err != nil {
			m.core.Log.ErrorContext(ctx, "cannot restore what a box wrote", "box", id, "layers", layers, "error", err)
		}
	}
	return nil
}

func (m *Manager) restore(ctx context.Context, p core.Layered, id string, layers []string) error {
	box, err := m.core.Ledger.Box(ctx, id)
	if err != nil {
		return err
	}
	if m.recall(ctx, box) {
		m.core.Log.WarnContext(ctx, "the ledger was older than a box; it is as its record says", "box", id)
		return nil
	}
	if len(layers) == 1 && box.State == forkbox.Stopped {
		err = p.Unshelve(ctx, box, layers[0])
		if err == nil {
			m.core.Log.WarnContext(ctx, "a snapshot was lost with the power, what the box wrote was not", "box", id)
			return nil
		}
	}
	return m.core.Note(ctx, &box, "snapshots were lost with the power; what it wrote is in the layers "+shelf.StackKey(layers), errUnrecorded)
}

var errUnrecorded = forkbox.Errorf(forkbox.Conflict, "restore the box", "it is not known how they belong together")
