package boxes

import (
	"context"
	"errors"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
	"github.com/forkbox/forkbox/internal/engine/limits"
	"github.com/forkbox/forkbox/internal/engine/network"
	"github.com/forkbox/forkbox/internal/trace"
)

// Wake has a box run: as it does already, or started now. The caller has the
// box's turn.
func (m *Manager) Wake(ctx context.Context, h *core.Handle, box *forkbox.Box) (*core.Attached, error) {
	return m.WakeFor(ctx, h, box, nil)
}

// WakeFor is Wake for a command with this environment.
func (m *Manager) WakeFor(ctx context.Context, h *core.Handle, box *forkbox.Box, env []string) (_ *core.Attached, err error) {
	ctx, step := trace.Start(ctx, "wake box")
	defer func() { step.End(err) }()
	a, err := m.start(ctx, h, box, env)
	if err == nil {
		err = m.hooks.DecideSync(ctx, a.Instance, box)
	}
	return a, err
}

func (m *Manager) start(ctx context.Context, h *core.Handle, box *forkbox.Box, env []string) (*core.Attached, error) {
	if err := core.Usable("start box", *box); err != nil {
		return nil, err
	}
	a, err := m.Find(ctx, h, box)
	if err != nil {
		return nil, err
	}
	if err := m.InTime("start box", *box); err != nil {
		return a, err
	}
	if a != nil {
		return a, m.network.Reopen(ctx, h, a, box)
	}
	was := *box
	if err := m.hideNamed(box, env); err != nil {
		return nil, err
	}
	if err := m.limits.RenewTerms(box); err != nil {
		return nil, err
	}
	if err := m.shelf.PrepareLayers(ctx, box); err != nil {
		return nil, err
	}
	m.beginRun(box)
	if err := m.core.Ledger.UpdateBox(ctx, *box, m.core.About(*box, forkbox.EventBoxStarted, "it begins to run")); err != nil {
		return nil, err
	}
	m.limits.Line.Changed(was, *box, false)
	if clean, err := m.launch(ctx, h, *box); err != nil {
		// The box is as it was. Its data is its owner's: nothing is removed.
		var told []forkbox.Event
		if clean {
			box.State = forkbox.Stopped
			told = append(told, stoppedFor(m.core.About(*box, forkbox.EventBoxStopped, "it could not be started: "+err.Error()), forkbox.CauseNotRun, ""))
		}
		return nil, m.core.Note(context.WithoutCancel(ctx), box, "cannot start it", err, told...)
	}
	if err := m.hooks.BringUp(ctx, h, h.Current(), box); err != nil {
		// Not half of it: the next command would find a box without its services.
		return nil, errors.Join(err, m.Halt(context.WithoutCancel(ctx), h, h.Current(), box, m.StopGrace))
	}
	m.network.PublishAll(context.WithoutCancel(ctx), h, h.Current(), box)
	return h.Current(), nil
}

// beginRun has the record of a box say that it begins to run: how it ended before
// is over, and its end is told by the clock of this run of the host.
func (m *Manager) beginRun(box *forkbox.Box) {
	now := m.core.Instant()
	box.State, box.Note, box.Paused, box.Death, box.Boot = forkbox.Running, network.Note(*box), "", nil, now.Boot
	if box.Ends != nil {
		box.Ends = now.Again(*box.Ends)
	}
}

// launch starts an instance. clean says whether one that failed is gone.
func (m *Manager) launch(ctx context.Context, h *core.Handle, box forkbox.Box) (clean bool, err error) {
	box, err = m.limits.WithSaves(ctx, box)
	if err != nil {
		return true, err
	}
	step := trace.Step(ctx, "start instance")
	instance, err := m.core.Provider.Start(ctx, box)
	step.End(err)
	if err != nil {
		return true, err
	}
	step = trace.Step(ctx, "open gate")
	gate, err := m.network.OpenGate(ctx, box, instance)
	step.End(err)
	if err == nil {
		err = m.attach(h, box, instance, gate, nil)
	}
	if err != nil {
		stop := instance.Stop(context.WithoutCancel(ctx), 0)
		return stop == nil, errors.Join(err, stop)
	}
	limits.CountFromZero(h)
	return true, nil
}

// Find finds the instance of a box that the ledger says runs, nil when it turns
// out that none does; then the ledger says so too. The caller has its turn.
func (m *Manager) Find(ctx context.Context, h *core.Handle, box *forkbox.Box) (*core.Attached, error) {
	if box.State != forkbox.Running {
		return nil, nil
	}
	a := h.Current()
	if a == nil {
		// An earlier attempt to attach failed; it may work now.
		return m.reattach(ctx, h, box)
	}
	select {
	case <-a.Instance.Done(): // the goroutine that tends it waits for our turn to end
		return nil, m.bury(context.WithoutCancel(ctx), h, a, box)
	default:
		return a, nil
	}
}

// reattach finds the instance of a box again, with the execs in it.
func (m *Manager) reattach(ctx context.Context, h *core.Handle, box *forkbox.Box) (*core.Attached, error) {
	unfinished, err := unfinishedOf(ctx, m.core.Ledger, box.ID)
	if err != nil {
		return nil, err
	}
	instance, err := m.core.Provider.Attach(ctx, *box)
	if core.IsNotFound(err) {
		return nil, m.recordDeath(context.WithoutCancel(ctx), box, unfinished)
	}
	if err == nil {
		err = m.takeOver(ctx, h, box, instance, unfinished)
	}
	if err != nil {
		return nil, m.core.Note(context.WithoutCancel(ctx), box, "cannot find out whether it runs", err)
	}
	return h.Current(), nil
}

// takeOver makes an instance that was found the box's own. One whose gate
// cannot be opened goes on without a way out: what runs in it can be seen and
// stopped, and nothing more is run before the gate is open.
func (m *Manager) takeOver(ctx context.Context, h *core.Handle, box *forkbox.Box, instance forkbox.Instance, unfinished []forkbox.Exec) error {
	gate, shut := m.network.OpenGate(ctx, *box, instance)
	if err := m.attach(h, *box, instance, gate, unfinished); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	if err := m.hooks.DecideSync(ctx, instance, box); err != nil { // as long as it stands still
		m.core.Log.ErrorContext(ctx, "cannot settle an interrupted sync", "box", box.ID, "error", err)
	}
	m.limits.GovernAgain(ctx, *box, instance)
	m.clocks.countIdleBefore(h, h.Current(), *box)
	note := network.Note(*box) // whatever it was, it is over
	var told []forkbox.Event
	if shut != nil {
		note = "nothing gets out of it: " + shut.Error()
		told = append(told, m.core.About(*box, forkbox.EventNetwork, note))
	}
	if note != box.Note {
		box.Note = note
		if err := m.core.Ledger.UpdateBox(ctx, *box, told...); err != nil {
			m.core.Log.ErrorContext(ctx, "cannot record the note of a box", "box", box.ID, "note", note, "error", err)
		}
	}
	m.network.PublishAll(ctx, h, h.Current(), box)
	return nil
}

// unfinishedOf are the execs of a box that have no exit in the ledger.
func unfinishedOf(ctx context.Context, ledger forkbox.Ledger, box string) (unfinished []forkbox.Exec, err error) {
	execs, err := ledger.Execs(ctx, box)
	for _, x := range execs {
		if x.Exit == nil {
			unfinished = append(unfinished, x)
		}
	}
	return unfinished, err
}

// recordDeath writes down that a box and its execs ended while no daemon watched.
// The execs first: a box that is "stopped" is never looked at again.
func (m *Manager) recordDeath(ctx context.Context, box *forkbox.Box, unfinished []forkbox.Exec) error {
	died := m.foundHow(*box)
	for _, x := range unfinished {
		exit, out := exitFromLog(m.core.Logs, box.ID, x.ID, died)
		now := m.core.Now()
		x.Ended, x.Exit, x.Output = &now, &exit, out
		if err := m.core.Ledger.UpdateExec(ctx, x, m.ended(*box, x)); err != nil {
			return err
		}
	}
	box.State, box.Note, box.Paused, box.Death = forkbox.Stopped, died.Why, "", &died
	return m.core.Ledger.UpdateBox(ctx, *box, m.stopped(*box, died))
}

// foundHow is how a box ended that was found not running any more.
func (m *Manager) foundHow(box forkbox.Box) forkbox.Exit {
	boot, _ := m.core.Clock()
	switch {
	case box.Boot == "" || boot == "":
		return lost("it was found not running any more: the host was restarted, or the box crashed")
	case box.Boot != boot:
		return forkbox.Exit{Code: 125, Cause: forkbox.CauseShutdown, Why: "the host was restarted, or lost its power"}
	}
	return lost("it was found not running any more: the box crashed, or was killed, while forkbox did not run")
}
