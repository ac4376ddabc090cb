package engine

import (
	"context"

	"github.com/forkbox/forkbox"
)

// Attach connects to an exec that was started detached: what it writes from now
// on goes to stdio. It owns stdio, also when it fails.
func (e *Engine) Attach(ctx context.Context, who forkbox.Owner, ref, id string, stdio forkbox.Stdio) error {
	const op = "attach"
	owned := false // by the instance
	defer func() {
		if !owned {
			stdio.Close()
		}
	}()
	return e.withLive(ctx, op, who, ref, id, func(ctx context.Context, h *handle, a *attached, x *execution) error {
		exec := h.record(x)
		if !exec.Detached {
			return forkbox.Errorf(forkbox.Busy, op, "exec %s was not started detached: somebody else is attached to it", exec.ID).
				Hint("see what it writes: forkbox logs -f %s %s", ref, exec.ID)
		}
		g, ok := a.instance.(forkbox.Governed)
		if !ok {
			return forkbox.Errorf(forkbox.Unsupported, op, "provider %s cannot", e.provider.Name()).
				Hint("see what it writes: forkbox logs -f %s %s", ref, exec.ID)
		}
		owned = true
		return g.Attach(ctx, exec.ID, stdio)
	})
}

// Suspend stops an exec as ctrl-Z on its terminal would, and says whether it did.
func (e *Engine) Suspend(ctx context.Context, who forkbox.Owner, ref, id string) (stopped bool, err error) {
	const op = "suspend exec"
	err = e.withLive(ctx, op, who, ref, id, func(ctx context.Context, _ *handle, a *attached, x *execution) error {
		g, ok := a.instance.(forkbox.Governed)
		if !ok {
			return forkbox.Errorf(forkbox.Unsupported, op, "provider %s cannot", e.provider.Name())
		}
		stopped, err = g.Suspend(ctx, x.exec.ID)
		return err
	})
	return stopped, err
}
