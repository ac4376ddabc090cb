package engine

import (
	"context"
	"errors"

	"github.com/forkbox/forkbox"
)

// hooks are what this manager asks of those above it, which know what landed in
// a box and what it changed.
type hooks struct {
	// decideSync ends a sync that was interrupted, in a box that was just found
	// or started.
	decideSync func(ctx context.Context, instance forkbox.Instance, box *forkbox.Box) error
	// forgetSync removes what is left of one of a box that is gone.
	forgetSync func(box forkbox.Box)
	// observe looks at a box in which the last command has ended.
	observe func(id string)
}

// wake has a box run: as it does already, or started now. The caller has the
// box's turn.
func (e *Engine) wake(ctx context.Context, h *handle, box *forkbox.Box) (*attached, error) {
	return e.wakeFor(ctx, h, box, nil)
}

// wakeFor is wake for a command with this environment.
func (e *Engine) wakeFor(ctx context.Context, h *handle, box *forkbox.Box, env []string) (*attached, error) {
	a, err := e.started(ctx, h, box, env)
	if err == nil {
		err = e.hooks.decideSync(ctx, a.instance, box)
	}
	return a, err
}

func (e *Engine) started(ctx context.Context, h *handle, box *forkbox.Box, env []string) (*attached, error) {
	if err := usable("start box", *box); err != nil {
		return nil, err
	}
	a, err := e.found(ctx, h, box)
	if err != nil {
		return nil, err
	}
	if err := e.inTime("start box", *box); err != nil {
		return a, err
	}
	if a != nil {
		return a, e.reopen(ctx, h, a, box)
	}
	was := *box
	if err := e.hideNamed(box, env); err != nil {
		return nil, err
	}
	if err := e.renewed(box); err != nil {
		return nil, err
	}
	if err := e.prepared(ctx, box); err != nil {
		return nil, err
	}
	e.begins(box)
	if err := e.ledger.UpdateBox(ctx, *box); err != nil {
		return nil, err
	}
	e.queue.changed(was, *box, false)
	if clean, err := e.launch(ctx, h, *box); err != nil {
		// The box is as it was. Its data is its owner's: nothing is removed.
		if clean {
			box.State = forkbox.Stopped
		}
		return nil, e.note(context.WithoutCancel(ctx), box, "cannot start it", err)
	}
	e.publishAll(context.WithoutCancel(ctx), h, h.current(), box)
	return h.current(), nil
}

// begins is the record of a box that begins to run: how it ended before is
// over, and its end is told by the clock of this run of the host.
func (e *Engine) begins(box *forkbox.Box) {
	now := e.instant()
	box.State, box.Note, box.Paused, box.Death, box.Boot = forkbox.Running, netNote(*box), "", nil, now.boot
	if box.Ends != nil {
		box.Ends = now.again(*box.Ends)
	}
}

// launch starts an instance. clean says whether one that failed is gone.
func (e *Engine) launch(ctx context.Context, h *handle, box forkbox.Box) (clean bool, err error) {
	box, err = e.withSaves(ctx, box)
	if err != nil {
		return true, err
	}
	instance, err := e.provider.Start(ctx, box)
	if err != nil {
		return true, err
	}
	gate, err := e.openGate(ctx, box, instance)
	if err == nil {
		err = e.attach(h, box, instance, gate, nil)
	}
	if err != nil {
		stop := instance.Stop(context.WithoutCancel(ctx), 0)
		return stop == nil, errors.Join(err, stop)
	}
	countFromZero(h)
	return true, nil
}

// found is the instance of a box that the ledger says runs, nil when it turns
// out that none does; then the ledger says so too. The caller has its turn.
func (e *Engine) found(ctx context.Context, h *handle, box *forkbox.Box) (*attached, error) {
	if box.State != forkbox.Running {
		return nil, nil
	}
	a := h.current()
	if a == nil {
		// An earlier attempt to attach failed; it may work now.
		return e.reattach(ctx, h, box)
	}
	select {
	case <-a.instance.Done(): // the goroutine that tends it waits for our turn to end
		return nil, e.bury(context.WithoutCancel(ctx), h, a, box)
	default:
		return a, nil
	}
}

// reattach finds the instance of a box again, with the execs in it.
func (e *Engine) reattach(ctx context.Context, h *handle, box *forkbox.Box) (*attached, error) {
	unfinished, err := unfinishedOf(ctx, e.ledger, box.ID)
	if err != nil {
		return nil, err
	}
	instance, err := e.provider.Attach(ctx, *box)
	if isNotFound(err) {
		return nil, e.foundDead(context.WithoutCancel(ctx), box, unfinished)
	}
	if err == nil {
		err = e.takeOver(ctx, h, box, instance, unfinished)
	}
	if err != nil {
		return nil, e.note(context.WithoutCancel(ctx), box, "cannot find out whether it runs", err)
	}
	return h.current(), nil
}

// takeOver makes an instance that was found the box's own. One whose gate
// cannot be opened goes on without a way out: what runs in it can be seen and
// stopped, and nothing more is run before the gate is open.
func (e *Engine) takeOver(ctx context.Context, h *handle, box *forkbox.Box, instance forkbox.Instance, unfinished []forkbox.Exec) error {
	gate, shut := e.openGate(ctx, *box, instance)
	if err := e.attach(h, *box, instance, gate, unfinished); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	if err := e.hooks.decideSync(ctx, instance, box); err != nil { // as long as it stands still
		e.log.Error("cannot settle an interrupted sync", "box", box.ID, "error", err)
	}
	e.regoverned(ctx, *box, instance)
	e.idled(h, h.current(), *box)
	note := netNote(*box) // whatever it was, it is over
	if shut != nil {
		note = "nothing gets out of it: " + shut.Error()
		e.tell(*box, forkbox.EventNetwork, "", note)
	}
	if note != box.Note {
		box.Note = note
		if err := e.ledger.UpdateBox(ctx, *box); err != nil {
			e.log.Error("cannot record the note of a box", "box", box.ID, "note", note, "error", err)
		}
	}
	e.publishAll(ctx, h, h.current(), box)
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

// foundDead writes down that a box and its execs ended while nobody watched.
// The execs first: a box that is "stopped" is never looked at again.
func (e *Engine) foundDead(ctx context.Context, box *forkbox.Box, unfinished []forkbox.Exec) error {
	died := e.foundHow(*box)
	for _, x := range unfinished {
		exit, out := exitFromLog(e.logs, box.ID, x.ID, died)
		now := e.now()
		x.Ended, x.Exit, x.Output = &now, &exit, out
		if err := e.ledger.UpdateExec(ctx, x); err != nil {
			return err
		}
	}
	box.State, box.Note, box.Paused, box.Death = forkbox.Stopped, died.Why, "", &died
	return e.ledger.UpdateBox(ctx, *box)
}

// foundHow is how a box ended that was found not running any more.
func (e *Engine) foundHow(box forkbox.Box) forkbox.Exit {
	boot, _ := e.clock()
	switch {
	case box.Boot == "" || boot == "":
		return lost("it was found not running any more: the host was restarted, or the box crashed")
	case box.Boot != boot:
		return forkbox.Exit{Code: 125, Cause: forkbox.CauseShutdown, Why: "the host was restarted, or lost its power"}
	}
	return lost("it was found not running any more: the box crashed, or was killed, while forkbox did not run")
}

// usable is a Busy error for a box that is not there yet, or hardly any more.
func usable(op string, box forkbox.Box) error {
	switch box.State {
	case forkbox.Creating:
		return forkbox.Errorf(forkbox.Busy, op, "%s was never completely created", box.Name).
			Hint("remove it: forkbox rm %s", box.Name)
	case forkbox.Removing:
		return forkbox.Errorf(forkbox.Busy, op, "%s is being removed", box.Name).
			Hint("if that failed, try again: forkbox rm -f %s", box.Name)
	}
	return nil
}
