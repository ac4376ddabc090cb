package execs

import (
	"context"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/boxes"
	"github.com/forkbox/forkbox/internal/engine/core"
)

// GetExec finds one exec of a box; an empty id means the latest.
func (m *Manager) GetExec(ctx context.Context, who forkbox.Owner, ref, id string) (forkbox.Exec, error) {
	ctx, end, err := m.core.Begin(ctx, "find exec")
	if err != nil {
		return forkbox.Exec{}, err
	}
	defer end()
	_, exec, err := m.findExec(ctx, who, ref, id)
	return exec, err
}

// Execs lists those of a box, oldest first.
func (m *Manager) Execs(ctx context.Context, who forkbox.Owner, ref string) ([]forkbox.Exec, error) {
	ctx, end, err := m.core.Begin(ctx, "list execs")
	if err != nil {
		return nil, err
	}
	defer end()
	box, err := m.core.Resolve(ctx, who, ref)
	if err != nil {
		return nil, err
	}
	return m.core.Ledger.Execs(ctx, box.ID)
}

// Wait returns an exec when it has ended.
func (m *Manager) Wait(ctx context.Context, who forkbox.Owner, ref, id string) (forkbox.Exec, error) {
	ctx, end, err := m.core.Begin(ctx, "wait for exec")
	if err != nil {
		return forkbox.Exec{}, err
	}
	defer end()
	// One that runs, by its box's id, as the server asks for it: no need to
	// look into the ledger.
	if h, a, x := m.boxes.LiveExec(ref, id); x != nil && a.Owner == who.UID {
		return m.await(ctx, h, x)
	}
	box, exec, err := m.findExec(ctx, who, ref, id)
	if err != nil || exec.Exit != nil {
		return exec, err
	}
	h, _, x := m.boxes.LiveExec(box.ID, exec.ID)
	if x == nil {
		return m.endedMeanwhile(ctx, exec)
	}
	return m.await(ctx, h, x)
}

func (m *Manager) await(ctx context.Context, h *core.Handle, x *core.Execution) (forkbox.Exec, error) {
	select {
	case <-x.Done:
		return h.Record(x), nil
	case <-ctx.Done():
		if m.core.Ctx.Err() != nil {
			return h.Record(x), core.ErrClosing("wait for exec")
		}
		return h.Record(x), forkbox.Errorf(forkbox.TimedOut, "wait for exec", "it is still running: %w", ctx.Err())
	}
}

// endedMeanwhile reads an exec again that ran a moment ago and does not now.
func (m *Manager) endedMeanwhile(ctx context.Context, exec forkbox.Exec) (forkbox.Exec, error) {
	again, err := m.core.Ledger.Exec(ctx, exec.Box, exec.ID)
	if err == nil && again.Exit == nil {
		return again, forkbox.Errorf(forkbox.Busy, "wait for exec", "forkbox is not attached to its box").
			Hint("forkbox show %s says why; forkbox start %s tries again", exec.Box, exec.Box)
	}
	return again, err
}

// Signal sends a signal to the exec's process.
func (m *Manager) Signal(ctx context.Context, who forkbox.Owner, ref, id string, signal int) error {
	return m.withLive(ctx, "signal exec", who, ref, id, func(ctx context.Context, h *core.Handle, a *core.Attached, x *core.Execution) error {
		h.SetSender(x, core.Signaller{By: core.ByUser(who), Signal: signal})
		if err := a.Instance.Signal(ctx, x.Exec.ID, signal); err != nil || !boxes.Ends(signal) || h.PausedWhy(a) == "" {
			return err
		}
		return m.boxes.EndPaused(ctx, "signal exec", h, a, x, boxes.PausedGrace)
	})
}

// Resize tells an exec the size of its terminal.
func (m *Manager) Resize(ctx context.Context, who forkbox.Owner, ref, id string, size forkbox.Size) error {
	return m.withLive(ctx, "resize terminal", who, ref, id, func(ctx context.Context, _ *core.Handle, a *core.Attached, x *core.Execution) error {
		return a.Instance.Resize(ctx, x.Exec.ID, size)
	})
}

// Kill ends an exec with everything it started: TERM, a grace, KILL. One that
// has ended already is what was asked for.
func (m *Manager) Kill(ctx context.Context, who forkbox.Owner, ref, id string, grace time.Duration) error {
	return m.endExec(ctx, who, ref, id, grace, &core.Ending{Cause: forkbox.CauseStopped, By: core.ByUser(who)})
}

// Abandon ends an exec whose caller is gone, at once.
func (m *Manager) Abandon(ctx context.Context, who forkbox.Owner, ref, id string) error {
	return m.endExec(ctx, who, ref, id, 0, &core.Ending{Cause: forkbox.CauseStopped, By: core.ByForkbox, Why: "who waited for it is gone"})
}

func (m *Manager) endExec(ctx context.Context, who forkbox.Owner, ref, id string, grace time.Duration, why *core.Ending) error {
	ctx, end, err := m.core.Begin(ctx, "kill exec")
	if err != nil {
		return err
	}
	defer end()
	box, exec, err := m.findExec(ctx, who, ref, id)
	if err != nil || exec.Exit != nil {
		return err
	}
	h, a, x := m.boxes.LiveExec(box.ID, exec.ID)
	if x == nil {
		_, err := m.endedMeanwhile(ctx, exec)
		return err
	}
	h.SetKilled(x, why)
	if h.PausedWhy(a) != "" {
		err = m.boxes.EndPaused(ctx, "kill exec", h, a, x, 0)
	} else {
		err = m.boxes.KillExec(ctx, a, x, grace)
	}
	if err != nil {
		h.SetKilled(x, nil)
	}
	return err
}

// withLive does something to an exec that runs.
func (m *Manager) withLive(ctx context.Context, op string, who forkbox.Owner, ref, id string,
	do func(context.Context, *core.Handle, *core.Attached, *core.Execution) error) error {
	ctx, end, err := m.core.Begin(ctx, op)
	if err != nil {
		return err
	}
	defer end()
	if h, a, x := m.boxes.LiveExec(ref, id); x != nil && a.Owner == who.UID {
		return forkbox.Wrap(op, do(ctx, h, a, x)) // no need to look into the ledger
	}
	box, exec, err := m.findExec(ctx, who, ref, id)
	if err != nil {
		return err
	}
	h, a, x := m.boxes.LiveExec(box.ID, exec.ID)
	if x == nil {
		return forkbox.Errorf(forkbox.Busy, op, "exec %s of %s has ended", exec.ID, box.Name)
	}
	return forkbox.Wrap(op, do(ctx, h, a, x))
}

func (m *Manager) findExec(ctx context.Context, who forkbox.Owner, ref, id string) (forkbox.Box, forkbox.Exec, error) {
	box, err := m.core.Resolve(ctx, who, ref)
	if err != nil {
		return box, forkbox.Exec{}, err
	}
	if id != "" {
		exec, err := m.core.Ledger.Exec(ctx, box.ID, id)
		return box, exec, err
	}
	execs, err := m.core.Ledger.Execs(ctx, box.ID)
	if err != nil {
		return box, forkbox.Exec{}, err
	}
	if len(execs) == 0 {
		return box, forkbox.Exec{}, forkbox.Errorf(forkbox.NotFound, "find exec", "nothing was run in %s yet", box.Name).
			Hint("forkbox exec %s -- COMMAND", box.Name)
	}
	return box, execs[len(execs)-1], nil
}
