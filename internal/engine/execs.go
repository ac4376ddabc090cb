package engine

import (
	"context"
	"time"

	"github.com/forkbox/forkbox"
)

// GetExec finds one exec of a box; an empty id means the latest.
func (e *Engine) GetExec(ctx context.Context, who forkbox.Owner, ref, id string) (forkbox.Exec, error) {
	ctx, end, err := e.begin(ctx, "find exec")
	if err != nil {
		return forkbox.Exec{}, err
	}
	defer end()
	_, exec, err := e.findExec(ctx, who, ref, id)
	return exec, err
}

// Execs lists those of a box, oldest first.
func (e *Engine) Execs(ctx context.Context, who forkbox.Owner, ref string) ([]forkbox.Exec, error) {
	ctx, end, err := e.begin(ctx, "list execs")
	if err != nil {
		return nil, err
	}
	defer end()
	box, err := e.resolve(ctx, who, ref)
	if err != nil {
		return nil, err
	}
	return e.ledger.Execs(ctx, box.ID)
}

// Wait returns an exec when it has ended.
func (e *Engine) Wait(ctx context.Context, who forkbox.Owner, ref, id string) (forkbox.Exec, error) {
	ctx, end, err := e.begin(ctx, "wait for exec")
	if err != nil {
		return forkbox.Exec{}, err
	}
	defer end()
	// One that runs, by its box's id, as the server asks for it: no need to
	// look into the ledger.
	if h, a, x := e.live(ref, id); x != nil && a.owner == who.UID {
		return e.await(ctx, h, x)
	}
	box, exec, err := e.findExec(ctx, who, ref, id)
	if err != nil || exec.Exit != nil {
		return exec, err
	}
	h, _, x := e.live(box.ID, exec.ID)
	if x == nil {
		return e.endedMeanwhile(ctx, exec)
	}
	return e.await(ctx, h, x)
}

func (e *Engine) await(ctx context.Context, h *handle, x *execution) (forkbox.Exec, error) {
	select {
	case <-x.done:
		return h.record(x), nil
	case <-ctx.Done():
		if e.ctx.Err() != nil {
			return h.record(x), errClosing("wait for exec")
		}
		return h.record(x), forkbox.Errorf(forkbox.TimedOut, "wait for exec", "it is still running: %w", ctx.Err())
	}
}

// endedMeanwhile reads an exec again that ran a moment ago and does not now.
func (e *Engine) endedMeanwhile(ctx context.Context, exec forkbox.Exec) (forkbox.Exec, error) {
	again, err := e.ledger.Exec(ctx, exec.Box, exec.ID)
	if err == nil && again.Exit == nil {
		return again, forkbox.Errorf(forkbox.Busy, "wait for exec", "forkbox is not attached to its box").
			Hint("forkbox show %s says why; forkbox start %s tries again", exec.Box, exec.Box)
	}
	return again, err
}

// Signal sends a signal to the exec's process.
func (e *Engine) Signal(ctx context.Context, who forkbox.Owner, ref, id string, signal int) error {
	return e.withLive(ctx, "signal exec", who, ref, id, func(ctx context.Context, h *handle, a *attached, x *execution) error {
		h.setSender(x, signaller{by: byUser(who), signal: signal})
		if err := a.instance.Signal(ctx, x.exec.ID, signal); err != nil || !ends(signal) || h.pausedWhy(a) == "" {
			return err
		}
		return e.thawed(ctx, "signal exec", h, a, x, pausedGrace)
	})
}

// Resize tells an exec the size of its terminal.
func (e *Engine) Resize(ctx context.Context, who forkbox.Owner, ref, id string, size forkbox.Size) error {
	return e.withLive(ctx, "resize terminal", who, ref, id, func(ctx context.Context, _ *handle, a *attached, x *execution) error {
		return a.instance.Resize(ctx, x.exec.ID, size)
	})
}

// Kill ends an exec with everything it started: TERM, a grace, KILL. One that
// has ended already is what was asked for.
func (e *Engine) Kill(ctx context.Context, who forkbox.Owner, ref, id string, grace time.Duration) error {
	return e.endExec(ctx, who, ref, id, grace, &ending{cause: forkbox.CauseStopped, by: byUser(who)})
}

// Abandon ends an exec whose caller is gone, at once.
func (e *Engine) Abandon(ctx context.Context, who forkbox.Owner, ref, id string) error {
	return e.endExec(ctx, who, ref, id, 0, &ending{cause: forkbox.CauseStopped, by: own, why: "who waited for it is gone"})
}

func (e *Engine) endExec(ctx context.Context, who forkbox.Owner, ref, id string, grace time.Duration, why *ending) error {
	ctx, end, err := e.begin(ctx, "kill exec")
	if err != nil {
		return err
	}
	defer end()
	box, exec, err := e.findExec(ctx, who, ref, id)
	if err != nil || exec.Exit != nil {
		return err
	}
	h, a, x := e.live(box.ID, exec.ID)
	if x == nil {
		_, err := e.endedMeanwhile(ctx, exec)
		return err
	}
	h.setKilled(x, why)
	if h.pausedWhy(a) != "" {
		err = e.thawed(ctx, "kill exec", h, a, x, 0)
	} else {
		err = e.killed(ctx, a, x, grace)
	}
	if err != nil {
		h.setKilled(x, nil)
	}
	return err
}

// killed ends an exec of a box that goes on.
func (e *Engine) killed(ctx context.Context, a *attached, x *execution, grace time.Duration) error {
	if err := a.instance.Kill(ctx, x.exec.ID, grace); err != nil && !isNotFound(err) {
		return forkbox.Wrap("kill exec", err)
	}
	// Its processes are gone; whoever looks next should find how it ended.
	select {
	case <-x.done:
	case <-ctx.Done():
	case <-time.After(lookLimit):
	}
	return nil
}

// withLive does something to an exec that runs.
func (e *Engine) withLive(ctx context.Context, op string, who forkbox.Owner, ref, id string,
	do func(context.Context, *handle, *attached, *execution) error) error {
	ctx, end, err := e.begin(ctx, op)
	if err != nil {
		return err
	}
	defer end()
	box, exec, err := e.findExec(ctx, who, ref, id)
	if err != nil {
		return err
	}
	h, a, x := e.live(box.ID, exec.ID)
	if x == nil {
		return forkbox.Errorf(forkbox.Busy, op, "exec %s of %s has ended", exec.ID, box.Name)
	}
	return forkbox.Wrap(op, do(ctx, h, a, x))
}

func (e *Engine) findExec(ctx context.Context, who forkbox.Owner, ref, id string) (forkbox.Box, forkbox.Exec, error) {
	box, err := e.resolve(ctx, who, ref)
	if err != nil {
		return box, forkbox.Exec{}, err
	}
	if id != "" {
		exec, err := e.ledger.Exec(ctx, box.ID, id)
		return box, exec, err
	}
	execs, err := e.ledger.Execs(ctx, box.ID)
	if err != nil {
		return box, forkbox.Exec{}, err
	}
	if len(execs) == 0 {
		return box, forkbox.Exec{}, forkbox.Errorf(forkbox.NotFound, "find exec", "nothing was run in %s yet", box.Name).
			Hint("forkbox exec %s -- COMMAND", box.Name)
	}
	return box, execs[len(execs)-1], nil
}

// live finds an exec that runs. The last result is nil when it does not.
func (e *Engine) live(box, id string) (*handle, *attached, *execution) {
	h := e.handle(box)
	if h == nil {
		return nil, nil, nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.attached == nil {
		return nil, nil, nil
	}
	return h, h.attached, h.attached.execs[id]
}
