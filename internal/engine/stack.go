package engine

import (
	"context"
	"os"
	"time"

	"github.com/forkbox/forkbox"
)

// layered is a provider whose boxes consist of layers, so that a box can be
// saved, gone back with and forked.
type layered interface {
	// Blank says whether a box has written nothing over its layers.
	Blank(ctx context.Context, box forkbox.Box) (bool, error)
	// Stacks says whether boxes lie over their layers, or begin as copies.
	Stacks() bool
	// Shelve turns what a box wrote, which does not run, into a layer: the box
	// has nothing of its own afterwards. It can be repeated after a crash.
	Shelve(ctx context.Context, box forkbox.Box, layer string) error
	// ShelvedFrom says whose writes became a layer, and Box.Shelved of then.
	ShelvedFrom(layer string) (box string, times int, ok bool)
	// Unshelve takes back a Shelve, where the box has nothing of its own.
	Unshelve(ctx context.Context, box forkbox.Box, layer string) error
	// Copy makes a layer of what a box wrote, which does not run and keeps it.
	Copy(ctx context.Context, box forkbox.Box, layer string) error
	// CopyRunning does so for one that runs, whose processes stand still
	// meanwhile.
	CopyRunning(ctx context.Context, box forkbox.Box, running forkbox.Instance, layer string) (paused time.Duration, err error)
	// Settle is called before a box at rest is started. It may give the box
	// something of its own and say that it lies over fewer layers then.
	Settle(ctx context.Context, box forkbox.Box) (layers []string, err error)
	// Look shows the files of a box that does not run.
	Look(ctx context.Context, box forkbox.Box) (root *os.File, done func(), err error)

	// Flatten makes one layer that shows what a stack of them shows.
	Flatten(ctx context.Context, stack []string, into string) error
	Layers(ctx context.Context) ([]string, error)
	// RemoveLayer deletes a layer that nothing needs. It can be repeated.
	RemoveLayer(ctx context.Context, layer string) error
	// Roots lists the directories that bases other than reality lie in, as
	// far as they are the provider's own.
	Roots(ctx context.Context) ([]string, error)
	// RemoveRoot deletes one that nothing needs. It can be repeated.
	RemoveRoot(ctx context.Context, dir string) error
	// Storage says how layers are kept, and why so.
	Storage() (name, why string)
}

// layers is the provider, if its boxes have layers.
func (e *Engine) layers(op string) (layered, error) {
	if p, ok := e.provider.(layered); ok {
		return p, nil
	}
	return nil, forkbox.Errorf(forkbox.Unsupported, op, "provider %s keeps no layers", e.provider.Name())
}

// saved finishes what a crash interrupted, or what is done and not yet written
// down: what the box wrote has become a layer. The caller has the box's turn
// and writes the box.
func (e *Engine) saved(ctx context.Context, box *forkbox.Box) error {
	if box.Saving == "" {
		return nil
	}
	p, err := e.layers("finish a snapshot")
	if err != nil {
		return err
	}
	if err := p.Shelve(ctx, *box, box.Saving); err != nil {
		return err
	}
	box.Saving = ""
	return nil
}

// atRest brings a box to rest in which nothing runs, as its layers are about
// to change, and finishes what is unfinished. One in which something runs is a
// Busy error. The caller has the box's turn.
func (e *Engine) atRest(ctx context.Context, op string, h *handle, box *forkbox.Box) error {
	if err := usable(op, *box); err != nil {
		return err
	}
	if err := e.settleSync(ctx, h, box); err != nil {
		return err
	}
	if err := e.inUse(ctx, h, *box); err != nil {
		return err
	}
	a, err := e.found(ctx, h, box)
	if err != nil {
		return err
	}
	if a != nil && box.Paused != "" { // it stays so
		return notPaused(op, *box)
	}
	if a != nil {
		if err := e.fell(context.WithoutCancel(ctx), h, a, box); err != nil {
			return err
		}
	}
	e.shorten(box)
	if err := e.saved(ctx, box); err != nil {
		return err
	}
	return e.adapted(ctx, box)
}

// abandoned is an instance that can be killed without waiting for its end.
type abandoned interface{ Abandon() error }

// fell ends an instance in which nothing runs. It is killed, so it does nothing
// any more, and its layers can be worked on; but its mounts take a while to be
// taken down, and nobody but the next to use the box has to wait for that. The
// caller has the box's turn by way of change, and writes the box.
func (e *Engine) fell(ctx context.Context, h *handle, a *attached, box *forkbox.Box) error {
	i, ok := a.instance.(abandoned)
	if !ok || box.Pinned || h.rest != nil { // pinned: it is started again at once
		return e.halt(ctx, h, a, box, 0)
	}
	why := ending{cause: forkbox.CauseStopped}
	h.setEnding(a, &why, true)
	if err := i.Abandon(); err != nil {
		h.setEnding(a, nil, false)
		return err
	}
	h.rest = func() {
		err := e.end(ctx, h, a, 0, why)
		if err == nil {
			err = e.ended(ctx, h.id)
		}
		if err != nil {
			e.log.Error("cannot bring a box to rest", "box", h.id, "error", err)
		}
	}
	box.State, box.Note = forkbox.Stopped, ""
	return nil
}

// prepared readies the layers of a box that is about to start. The caller has
// the box's turn and writes the box.
func (e *Engine) prepared(ctx context.Context, box *forkbox.Box) error {
	p, ok := e.provider.(layered)
	if !ok {
		return nil
	}
	if err := e.saved(ctx, box); err != nil {
		return err
	}
	if err := e.adapted(ctx, box); err != nil {
		return err
	}
	e.shorten(box)
	layers, err := p.Settle(ctx, *box)
	if err != nil {
		return err
	}
	box.Layers = layers
	return nil
}

// finishSaving has the layers of boxes be what the ledger says, after a crash.
func (e *Engine) finishSaving(ctx context.Context, boxes []forkbox.Box) {
	for i := range boxes {
		box := &boxes[i]
		if box.Saving == "" {
			continue
		}
		err := e.saved(ctx, box)
		if err == nil {
			err = e.ledger.UpdateBox(ctx, *box)
		}
		if err != nil {
			e.log.Error("cannot finish a snapshot", "box", box.ID, "error", err)
		}
	}
}

// ended writes that a box is at rest, unless that was done.
func (e *Engine) ended(ctx context.Context, id string) error {
	box, err := e.ledger.Box(ctx, id)
	if err != nil || box.State != forkbox.Running {
		return err
	}
	box.State, box.Note, box.Paused = forkbox.Stopped, "", ""
	return e.ledger.UpdateBox(ctx, box)
}
