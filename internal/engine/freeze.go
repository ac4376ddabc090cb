package engine

import (
	"context"

	"github.com/forkbox/forkbox"
)

// freeze pauses a box that must not go on at once: it stands still before
// anybody who has its turn is waited for, and before that is written down. The
// next engine lets go on what nothing is written of, and looks again.
func (e *Engine) freeze(h *handle, a *attached, why string, kind forkbox.EventKind) error {
	g, ok := a.instance.(forkbox.Governed)
	if !ok {
		return forkbox.Errorf(forkbox.Unsupported, "pause box", "provider %s cannot", e.provider.Name())
	}
	if err := g.Pause(e.ctx); err != nil {
		return err
	}
	return e.asCurrent(h, a, func(ctx context.Context, box *forkbox.Box) error {
		if box.Paused != "" {
			return nil
		}
		e.tell(*box, kind, "", why)
		return e.pause(ctx, h, a, g, box, why)
	})
}

// asCurrent does something to a box that still is the instance a. It takes the
// box's turn for that.
func (e *Engine) asCurrent(h *handle, a *attached, do func(context.Context, *forkbox.Box) error) error {
	_, unlock, err := e.lock(e.ctx, h.id)
	if err != nil {
		return err
	}
	defer unlock()
	if h.current() != a {
		return nil
	}
	ctx := context.WithoutCancel(e.ctx)
	box, err := e.ledger.Box(ctx, h.id)
	if err != nil {
		return err
	}
	return do(ctx, &box)
}
