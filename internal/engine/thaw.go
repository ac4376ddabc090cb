package engine

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"time"

	"github.com/forkbox/forkbox"
)

// What stands still hears no signal, and on some kernels cannot even be killed.
// So a box that is paused goes on for the moment that it takes to end one of its
// execs, and then stands still again.

// pausedGrace is how long an exec of a paused box gets to end by the signal that
// it was sent.
const pausedGrace = time.Second

// thawed has an exec of a paused box end: by the signal that it was sent, if it
// does so within the grace, else killed.
func (e *Engine) thawed(ctx context.Context, op string, h *handle, a *attached, x *execution, grace time.Duration) error {
	box := h.box(a)
	_, err := e.change(context.WithoutCancel(ctx), op, box.Owner, box.ID, func(ctx context.Context, h *handle, box *forkbox.Box) error {
		g, ok := a.instance.(forkbox.Governed)
		if !ok || h.current() != a {
			return nil // it has ended
		}
		if strings.HasPrefix(box.Paused, reserved) {
			grace = 0 // it could write more
		}
		if err := g.Resume(ctx); err != nil {
			return err
		}
		err := e.endWithin(ctx, a, x, grace)
		if box.Paused != "" {
			err = errors.Join(err, g.Pause(ctx))
		}
		return err
	})
	return err
}

func (e *Engine) endWithin(ctx context.Context, a *attached, x *execution, grace time.Duration) error {
	if grace > 0 {
		select {
		case <-x.done:
			return nil
		case <-time.After(grace):
		}
	}
	return e.killed(ctx, a, x, 0)
}

// ends says whether a signal is sent to have something end.
func ends(signal int) bool {
	switch syscall.Signal(signal) {
	case syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGKILL:
		return true
	}
	return false
}

// expireExec looks after the timeout of an exec for as long as it runs. The instance
// ends it when its time is up, but cannot end what stands still.
func (e *Engine) expireExec(h *handle, a *attached, x *execution, left time.Duration) {
	var timer *time.Timer
	timer = time.AfterFunc(max(left, 0)+overdue, func() {
		select {
		case <-x.done:
			return
		case <-a.gone:
			return
		case <-e.ctx.Done():
			return
		default:
		}
		if h.pausedWhy(a) != "" {
			h.setKilled(x, &ending{cause: forkbox.CauseTimeout, by: own})
			if err := e.thawed(e.ctx, "end exec", h, a, x, 0); err != nil {
				e.log.Warn("cannot end an exec whose time is up", "box", h.id, "exec", x.exec.ID, "error", err)
			}
		}
		timer.Reset(overdue)
	})
}

// overdue is how long after its time an exec is looked at, and looked at again.
const overdue = 500 * time.Millisecond
