package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/forkbox/forkbox"
)

// Start has a box run, and go on running when it idles.
func (e *Engine) Start(ctx context.Context, who forkbox.Owner, ref string) (forkbox.Box, error) {
	const op = "start box"
	ctx, end, err := e.begin(ctx, op)
	if err != nil {
		return forkbox.Box{}, err
	}
	defer end()
	in, err := e.enter(ctx, who, ref, forkbox.Wish{}, false)
	if err != nil {
		return forkbox.Box{}, err
	}
	defer in.leave()
	_, err = e.wake(ctx, in.h, &in.box)
	if err == nil {
		err = e.pin(ctx, in.h, &in.box, true)
	}
	return in.box, forkbox.Wrap(op, err)
}

// Stop ends everything in a box. A nil grace is the usual one. It can be
// repeated.
func (e *Engine) Stop(ctx context.Context, who forkbox.Owner, ref string, grace *time.Duration) (forkbox.Box, error) {
	return e.change(ctx, "stop box", who, ref, func(ctx context.Context, h *handle, box *forkbox.Box) error {
		return e.stop(ctx, who, h, box, grace)
	})
}

// stop does that. The caller has the box's turn.
func (e *Engine) stop(ctx context.Context, who forkbox.Owner, h *handle, box *forkbox.Box, grace *time.Duration) error {
	if err := usable("stop box", *box); err != nil {
		return err
	}
	// What has begun is finished: a caller who gives up would leave a box
	// that is neither running nor stopped.
	ctx = context.WithoutCancel(ctx)
	if err := e.pin(ctx, h, box, false); err != nil {
		return err
	}
	a, err := e.found(ctx, h, box)
	if err != nil || a == nil {
		return err
	}
	why := ending{forkbox.CauseStopped, byUser(who), "the box was stopped"}
	return e.haltFor(ctx, h, a, box, e.grace(grace), why)
}

// Remove deletes a box. One that is doing something needs force.
func (e *Engine) Remove(ctx context.Context, who forkbox.Owner, ref string, force bool) error {
	_, err := e.change(ctx, "remove box", who, ref, func(ctx context.Context, h *handle, box *forkbox.Box) error {
		if !force {
			if err := e.inUse(ctx, h, *box); err != nil {
				return err
			}
		}
		return e.remove(context.WithoutCancel(ctx), h, box)
	})
	return err
}

// change is the frame of a verb that changes a box's state.
func (e *Engine) change(ctx context.Context, op string, who forkbox.Owner, ref string,
	do func(context.Context, *handle, *forkbox.Box) error) (forkbox.Box, error) {
	ctx, end, err := e.begin(ctx, op)
	if err != nil {
		return forkbox.Box{}, err
	}
	defer end()
	box, h, unlock, err := e.take(ctx, who, ref)
	if err != nil {
		return forkbox.Box{}, err
	}
	defer e.passOn(h, unlock)
	return box, forkbox.Wrap(op, do(ctx, h, &box))
}

// passOn gives the box's turn to whoever is next, when what was left to do in
// the background is done.
func (e *Engine) passOn(h *handle, unlock func()) {
	rest := h.rest
	if rest == nil {
		unlock()
		return
	}
	h.rest = nil
	e.work.Go(func() {
		defer unlock()
		rest()
	})
}

// pin writes whether the box stays when it idles. The caller has its turn.
func (e *Engine) pin(ctx context.Context, h *handle, box *forkbox.Box, pinned bool) error {
	if box.Pinned != pinned {
		box.Pinned = pinned
		if err := e.ledger.UpdateBox(ctx, *box); err != nil {
			return err
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.attached != nil {
		h.attached.pinned = pinned
		h.attached.idleSince = time.Now()
	}
	return nil
}

// halt stops an instance. The ledger says "running" until it is gone: were it
// the other way round, a crash in between would leave a box running that the
// ledger believes at rest. The caller has the box's turn.
func (e *Engine) halt(ctx context.Context, h *handle, a *attached, box *forkbox.Box, grace time.Duration) error {
	return e.haltFor(ctx, h, a, box, grace, ending{cause: forkbox.CauseStopped})
}

// haltFor is halt with a reason, which the execs that end with it get.
func (e *Engine) haltFor(ctx context.Context, h *handle, a *attached, box *forkbox.Box, grace time.Duration, why ending) error {
	if err := e.end(ctx, h, a, grace, why); err != nil {
		return err
	}
	box.State, box.Note, box.Paused = forkbox.Stopped, netNote(*box), ""
	return e.ledger.UpdateBox(ctx, *box)
}

// end ends an instance and its execs. The caller has the box's turn.
func (e *Engine) end(ctx context.Context, h *handle, a *attached, grace time.Duration, why ending) error {
	h.setEnding(a, &why, grace == 0)
	grace = e.unpaused(ctx, h, a, grace)
	if err := a.instance.Stop(ctx, grace); err != nil {
		h.setEnding(a, nil, false)
		return err
	}
	select { // the last exits arrive before the instance is done
	case <-a.instance.Done():
	case <-ctx.Done():
	}
	e.settle(h, a, nil, why.unasked())
	e.detach(h, a)
	return nil
}

// remove deletes a box, whatever state it is in. The caller has its turn.
func (e *Engine) remove(ctx context.Context, h *handle, box *forkbox.Box) error {
	mayRun := box.State != forkbox.Stopped
	box.State, box.Pinned = forkbox.Removing, false
	if err := e.ledger.UpdateBox(ctx, *box); err != nil {
		return err
	}
	if mayRun {
		if err := e.clear(ctx, h, *box); err != nil {
			return e.note(ctx, box, "cannot remove it", err)
		}
	}
	if err := e.discard(ctx, *box); err != nil {
		return e.note(ctx, box, "cannot remove it", err)
	}
	if len(box.Layers) > 0 || box.At != "" || !box.Base.IsReality() {
		e.sweepSoon()
	}
	return nil
}

// clear ends the instance of a box that is to go, known or not.
func (e *Engine) clear(ctx context.Context, h *handle, box forkbox.Box) error {
	if a := h.current(); a != nil {
		return e.end(ctx, h, a, 0, ending{cause: forkbox.CauseStopped, why: "the box was removed"})
	}
	instance, err := e.provider.Attach(ctx, box)
	if isNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if g, ok := instance.(forkbox.Governed); ok && box.Paused != "" {
		_ = g.Resume(ctx) // what stands still cannot be killed everywhere; Stop says if it was not
	}
	return instance.Stop(ctx, 0)
}

// inUse is a Busy error when a box has execs or processes.
func (e *Engine) inUse(ctx context.Context, h *handle, box forkbox.Box) error {
	if box.State != forkbox.Running {
		return nil
	}
	a, err := e.found(ctx, h, &box)
	if err != nil || a == nil {
		return err
	}
	h.mu.Lock()
	execs := len(a.execs)
	h.mu.Unlock()
	ps, err := a.instance.Processes(ctx)
	if err == nil && execs == 0 && !beyondInit(ps) {
		return nil
	}
	why := "processes are running in it"
	if execs > 0 {
		why = fmt.Sprintf("%d of its execs are running", execs)
	}
	return forkbox.Errorf(forkbox.Busy, "remove box "+box.Name, "%s", why).
		Hint("end them and remove it: forkbox rm -f %s", box.Name).
		Hint("see them: forkbox ps %s", box.Name)
}

func (e *Engine) grace(asked *time.Duration) time.Duration {
	if asked != nil {
		return *asked
	}
	return e.stopGrace
}
