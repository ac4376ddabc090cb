package engine

import (
	"context"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
)

// Pause has everything in a box stand still.
func (e *Engine) Pause(ctx context.Context, who forkbox.Owner, ref string) (forkbox.Box, error) {
	const op = "pause box"
	return e.change(ctx, op, who, ref, func(ctx context.Context, h *handle, box *forkbox.Box) error {
		a, g, err := e.governed(ctx, op, h, box)
		if err != nil {
			return err
		}
		return e.pause(context.WithoutCancel(ctx), h, a, g, box, "by "+byUser(who))
	})
}

// Resume has a paused box go on.
func (e *Engine) Resume(ctx context.Context, who forkbox.Owner, ref string) (forkbox.Box, error) {
	const op = "resume box"
	return e.change(ctx, op, who, ref, func(ctx context.Context, h *handle, box *forkbox.Box) error {
		_, g, err := e.governed(ctx, op, h, box)
		if err != nil {
			return err
		}
		return e.resume(context.WithoutCancel(ctx), h, g, box, "by "+byUser(who))
	})
}

// governed is the instance of a box that runs, as one that can be paused. The
// caller has the box's turn.
func (e *Engine) governed(ctx context.Context, op string, h *handle, box *forkbox.Box) (*attached, forkbox.Governed, error) {
	if err := usable(op, *box); err != nil {
		return nil, nil, err
	}
	a, err := e.instanceOf(ctx, h, box)
	if err != nil {
		return nil, nil, err
	}
	if a == nil {
		return nil, nil, forkbox.Errorf(forkbox.Busy, op, "%s is at rest: nothing runs in it", box.Name)
	}
	g, ok := a.instance.(forkbox.Governed)
	if !ok {
		return nil, nil, forkbox.Errorf(forkbox.Unsupported, op, "provider %s cannot", e.provider.Name())
	}
	return a, g, nil
}

// pause writes that a box is paused before it is, and takes that back if it
// cannot be. The caller has the box's turn.
func (e *Engine) pause(ctx context.Context, h *handle, a *attached, g forkbox.Governed, box *forkbox.Box, why string) error {
	was := box.Paused
	if was == why {
		return g.Pause(ctx)
	}
	box.Paused = why
	if err := e.ledger.UpdateBox(ctx, *box); err != nil {
		return err
	}
	if err := g.Pause(ctx); err != nil {
		box.Paused = was
		if back := e.ledger.UpdateBox(ctx, *box); back != nil {
			e.log.Error("cannot record that a box is not paused", "box", box.ID, "error", back)
		}
		return err
	}
	h.govern(a, *box)
	e.queue.runs(*box)
	e.tell(*box, forkbox.EventPaused, "", why)
	return nil
}

// resume lets a box go on before it writes so: a crash in between leaves one
// that the next engine pauses again, not one that stands still and nobody knows
// why. The caller has the box's turn.
func (e *Engine) resume(ctx context.Context, h *handle, g forkbox.Governed, box *forkbox.Box, why string) error {
	if err := g.Resume(ctx); err != nil || box.Paused == "" {
		return err
	}
	box.Paused = ""
	if err := e.ledger.UpdateBox(ctx, *box); err != nil {
		return err
	}
	if a := h.current(); a != nil {
		h.govern(a, *box)
		e.queue.runs(*box)
	}
	e.tell(*box, forkbox.EventResumed, "", why)
	return nil
}

// unpaused lets a box go on that is about to be stopped: what stands still
// cannot end by itself, and on some kernels not be killed. One that was paused
// to save the host's reserve gets no time to write more.
func (e *Engine) unpaused(ctx context.Context, h *handle, a *attached, grace time.Duration) time.Duration {
	g, ok := a.instance.(forkbox.Governed)
	why := h.pausedWhy(a)
	if !ok || why == "" {
		return grace
	}
	if err := g.Resume(ctx); err != nil {
		e.log.Warn("cannot resume a box that is to stop", "box", h.id, "error", err)
	}
	if strings.HasPrefix(why, reserved) {
		return 0
	}
	return grace
}

// paused has a box stand still that the record says does.
func (e *Engine) paused(ctx context.Context, a *attached, box forkbox.Box) {
	g, ok := a.instance.(forkbox.Governed)
	if !ok || box.Paused == "" {
		return
	}
	if err := g.Pause(ctx); err != nil {
		e.log.Error("cannot pause a box again", "box", box.ID, "error", err)
	}
}

// notPaused refuses to run something in a box that stands still.
func notPaused(op string, box forkbox.Box) error {
	if box.Paused == "" {
		return nil
	}
	paused := forkbox.Errorf(forkbox.Busy, op, "%s is paused: %s", box.Name, box.Paused)
	if strings.HasPrefix(box.Paused, reserved) {
		return paused.Hint("free some: forkbox gc, or forkbox rm BOX; it then goes on by itself")
	}
	return paused.Hint("let it go on: forkbox resume %s", box.Name)
}

// regoverned has a box that was found running be as the ledger says: an engine
// that was killed may have got no further than half of a change.
func (e *Engine) regoverned(ctx context.Context, box forkbox.Box, instance forkbox.Instance) {
	failed := func(what string, err error) {
		if err != nil {
			e.log.Warn("cannot "+what+" a box that was found running", "box", box.ID, "error", err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, statsLimit) // one that does not answer holds up no other
	defer cancel()
	if g := e.governor(); g != nil && len(box.Policy) > 0 {
		failed("limit", g.Limit(ctx, box, instance))
	}
	g, ok := instance.(forkbox.Governed)
	switch {
	case !ok:
	case box.Paused != "":
		failed("pause", g.Pause(ctx))
	default:
		failed("resume", g.Resume(ctx))
	}
}
