package execs

import (
	"context"
	"os"

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

// Stream gives an exec a reader at the other end of link, which it owns, also when
// it fails: the caller who started it with [forkbox.Stdio.Stream], or one who
// joins an exec that runs in the background.
func (m *Manager) Stream(ctx context.Context, who forkbox.Owner, ref, id string, join forkbox.StreamJoin, link *os.File) (at forkbox.StreamAt, err error) {
	op := "attach to exec " + id
	owned := false // by the instance
	defer func() {
		if !owned {
			link.Close()
		}
	}()
	err = m.withLive(ctx, op, who, ref, id, func(ctx context.Context, _ *core.Handle, a *core.Attached, x *core.Execution) error {
		s, err := streaming(op, a)
		if err != nil {
			return err
		}
		owned = true
		at, err = s.Stream(ctx, x.Exec.ID, join, link)
		return err
	})
	return at, err
}

// streaming is an instance whose execs can be read over a link.
func streaming(op string, a *core.Attached) (forkbox.Streaming, error) {
	s, ok := a.Instance.(forkbox.Streaming)
	if !ok {
		return nil, forkbox.Errorf(forkbox.Unsupported, op, "its provider cannot have commands read over the network").
			Hint("start it detached, and follow what it writes: forkbox exec -d, forkbox logs -f")
	}
	return s, nil
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
