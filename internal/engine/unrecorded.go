package engine

import (
	"context"

	"github.com/forkbox/forkbox"
)

// unrecorded is the box whose writes a layer is without the ledger knowing: a
// power cut can lose the ledger's last words and not the rename. Nobody names
// such a layer, and it is all that the box ever wrote.
func (e *Engine) unrecorded(ctx context.Context, layer string) *forkbox.Box {
	p, ok := e.provider.(layered)
	if !ok {
		return nil
	}
	id, times, ok := p.ShelvedFrom(layer)
	if !ok {
		return nil
	}
	box, err := e.ledger.Box(ctx, id)
	if err != nil || box.Shelved >= times {
		return nil
	}
	return &box
}

// restoreUnrecorded gives boxes back what a power cut made nobody's. Where that
// is more than one layer it is not known how they lie over each other; then they
// are kept, and the box says so.
func (e *Engine) restoreUnrecorded(ctx context.Context) error {
	p, ok := e.provider.(layered)
	if !ok {
		return nil
	}
	there, err := p.Layers(ctx)
	if err != nil || len(there) == 0 {
		return err
	}
	needed, err := e.needed(ctx)
	if err != nil {
		return err
	}
	lost := map[string][]string{}
	for _, layer := range there {
		if needed[layer] > 0 {
			continue
		}
		if box := e.unrecorded(ctx, layer); box != nil {
			lost[box.ID] = append(lost[box.ID], layer)
		}
	}
	for id, layers := range lost {
		if err := e.restore(ctx, p, id, layers); err != nil {
			e.log.Error("cannot restore what a box wrote", "box", id, "layers", layers, "error", err)
		}
	}
	return nil
}

func (e *Engine) restore(ctx context.Context, p layered, id string, layers []string) error {
	box, err := e.ledger.Box(ctx, id)
	if err != nil {
		return err
	}
	if e.recalled(ctx, box) {
		e.log.Warn("the ledger was older than a box; it is as its record says", "box", id)
		return nil
	}
	if len(layers) == 1 && box.State == forkbox.Stopped {
		err = p.Unshelve(ctx, box, layers[0])
		if err == nil {
			e.log.Warn("a snapshot was lost with the power, what the box wrote was not", "box", id)
			return nil
		}
	}
	return e.note(ctx, &box, "snapshots were lost with the power; what it wrote is in the layers "+stackKey(layers), errUnrecorded)
}

var errUnrecorded = forkbox.Errorf(forkbox.Conflict, "restore the box", "it is not known how they belong together")
