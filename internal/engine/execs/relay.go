package execs

import (
	"context"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
)

// Attach connects to an exec that was started detached: what it writes from now
// on goes to stdio. It owns stdio, also when it fails.
func (m *Manager) Attach(ctx context.Context, who forkbox.Owner, ref, id string, stdio forkbox.Stdio) error {
	const op = "attach"
	owned := false // by the instance
	defer func() {
		if !owned {
			stdio.Close()
		}
	}()
	return m.withLive(ctx, op, who, ref, id, func(ctx context.Context, h *core.Handle, a *core.Attached, x *core.Execution) error {
		exec := h.Record(x)
		if !exec.Detached {
			return forkbox.Errorf(forkbox.Busy, op, "exec %s was not started detached: somebody else is attached to it", exec.ID).
				Hint("see what it writes: forkbox logs -f %s %s", ref, exec.ID)
		}
		g, ok := a.Instance.(forkbox.Governed)
		if !ok {
			return forkbox.Errorf(forkbox.Unsupported, op, "provider %s cannot", m.core.Provider.Name()).
				Hint("see what it writes: forkbox logs -f %s %s", ref, exec.ID)
		}
		owned = true
		return g.Attach(ctx, exec.ID, stdio)
	})
}

// Suspend stops an exec as ctrl-Z on its terminal would, and says whether it did.
func (m *Manager) Suspend(ctx context.Context, who forkbox.Owner, ref, id string) (stopped bool, err error) {
	const op = "suspend exec"
	err = m.withLive(ctx, op, who, ref, id, func(ctx context.Context, _ *core.Handle, a *core.Attached, x *core.Execution) error {
		g, ok := a.Instance.(forkbox.Governed)
		if !ok {
			return forkbox.Errorf(forkbox.Unsupported, op, "provider %s cannot", m.core.Provider.Name())
		}
		stopped, err = g.Suspend(ctx, x.Exec.ID)
		return err
	})
	return stopped, err
}
