package boxes

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
	"github.com/forkbox/forkbox/internal/engine/limits"
)

// What stands still hears no signal, and on some kernels cannot even be killed.
// So a box that is paused goes on for the moment that it takes to end one of its
// execs, and then stands still again.

// PausedGrace is how long an exec of a paused box gets to end by the signal that
// it was sent.
const PausedGrace = time.Second

// EndPaused has an exec of a paused box end: by the signal that it was sent, if it
// does so within the grace, else killed.
func (m *Manager) EndPaused(ctx context.Context, op string, h *core.Handle, a *core.Attached, x *core.Execution, grace time.Duration) error {
	box := h.Box(a)
	_, err := m.core.Change(context.WithoutCancel(ctx), op, box.Owner, box.ID, func(ctx context.Context, h *core.Handle, box *forkbox.Box) error {
		g, ok := a.Instance.(forkbox.Governed)
		if !ok || h.Current() != a {
			return nil // it has ended
		}
		if strings.HasPrefix(box.Paused, limits.Reserved) {
			grace = 0 // it could write more
		}
		if err := g.Resume(ctx); err != nil {
			return err
		}
		err := m.endWithin(ctx, a, x, grace)
		if box.Paused != "" {
			err = errors.Join(err, g.Pause(ctx))
		}
		return err
	})
	return err
}

func (m *Manager) endWithin(ctx context.Context, a *core.Attached, x *core.Execution, grace time.Duration) error {
	if grace > 0 {
		select {
		case <-x.Done:
			return nil
		case <-time.After(grace):
		}
	}
	return m.KillExec(ctx, a, x, 0)
}

// Ends says whether a signal is sent to have something end.
func Ends(signal int) bool {
	switch syscall.Signal(signal) {
	case syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGKILL:
		return true
	}
	return false
}

// ExpireExec looks after the timeout of an exec for as long as it runs. The instance
// ends it when its time is up, but cannot end what stands still.
func (m *Manager) ExpireExec(h *core.Handle, a *core.Attached, x *core.Execution, left time.Duration) {
	var timer *time.Timer
	timer = time.AfterFunc(max(left, 0)+overdue, func() {
		select {
		case <-x.Done:
			return
		case <-a.Gone:
			return
		case <-m.core.Ctx.Done():
			return
		default:
		}
		if h.PausedWhy(a) != "" {
			h.SetKilled(x, &core.Ending{Cause: forkbox.CauseTimeout, By: core.ByForkbox})
			if err := m.EndPaused(m.core.Ctx, "end exec", h, a, x, 0); err != nil {
				m.core.Log.Warn("cannot end an exec whose time is up", "box", h.ID, "exec", x.Exec.ID, "error", err)
			}
		}
		timer.Reset(overdue)
	})
}

// overdue is how long after its time an exec is looked at, and looked at again.
const overdue = 500 * time.Millisecond

// KillExec ends an exec of a box that goes on.
func (m *Manager) KillExec(ctx context.Context, a *core.Attached, x *core.Execution, grace time.Duration) error {
	if err := a.Instance.Kill(ctx, x.Exec.ID, grace); err != nil && !core.IsNotFound(err) {
		return forkbox.Wrap("kill exec", err)
	}
	// Its processes are gone; the next caller should find how it ended.
	select {
	case <-x.Done:
	case <-ctx.Done():
	case <-time.After(limits.LookLimit):
	}
	return nil
}

// LiveExec finds an exec that runs. The last result is nil when it does not.
func (m *Manager) LiveExec(box, id string) (*core.Handle, *core.Attached, *core.Execution) {
	h := m.core.HandleOf(box)
	if h == nil {
		return nil, nil, nil
	}
	h.Mu.Lock()
	defer h.Mu.Unlock()
	if h.Attached == nil {
		return nil, nil, nil
	}
	return h, h.Attached, h.Attached.Execs[id]
}
