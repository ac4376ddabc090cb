package limits

import (
	"context"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
)

// Pause has everything in a box stand still.
func (m *Manager) Pause(ctx context.Context, who forkbox.Owner, ref string) (forkbox.Box, error) {
	const op = "pause box"
	return m.core.Change(ctx, op, who, ref, func(ctx context.Context, h *core.Handle, box *forkbox.Box) error {
		a, g, err := m.governed(ctx, op, h, box)
		if err != nil {
			return err
		}
		return m.pause(context.WithoutCancel(ctx), h, a, g, box, "by "+core.ByUser(who))
	})
}

// Resume has a paused box go on.
func (m *Manager) Resume(ctx context.Context, who forkbox.Owner, ref string) (forkbox.Box, error) {
	const op = "resume box"
	return m.core.Change(ctx, op, who, ref, func(ctx context.Context, h *core.Handle, box *forkbox.Box) error {
		_, g, err := m.governed(ctx, op, h, box)
		if err != nil {
			return err
		}
		return m.resume(context.WithoutCancel(ctx), h, g, box, "by "+core.ByUser(who))
	})
}

// governed is the instance of a box that runs, as one that can be paused. The
// caller has the box's turn.
func (m *Manager) governed(ctx context.Context, op string, h *core.Handle, box *forkbox.Box) (*core.Attached, forkbox.Governed, error) {
	if err := core.Usable(op, *box); err != nil {
		return nil, nil, err
	}
	a, err := m.core.Find(ctx, h, box)
	if err != nil {
		return nil, nil, err
	}
	if a == nil {
		return nil, nil, forkbox.Errorf(forkbox.Busy, op, "%s is at rest: nothing runs in it", box.Name)
	}
	g, ok := a.Instance.(forkbox.Governed)
	if !ok {
		return nil, nil, forkbox.Errorf(forkbox.Unsupported, op, "provider %s cannot", m.core.Provider.Name())
	}
	return a, g, nil
}

// pause writes that a box is paused before it is, and takes that back if it
// cannot be. The caller has the box's turn.
func (m *Manager) pause(ctx context.Context, h *core.Handle, a *core.Attached, g forkbox.Governed, box *forkbox.Box, why string, tell ...forkbox.Event) error {
	was := box.Paused
	if was == why {
		return g.Pause(ctx)
	}
	box.Paused = why
	tell = append(tell, m.core.About(*box, forkbox.EventPaused, why))
	if err := m.core.Ledger.UpdateBox(ctx, *box, tell...); err != nil {
		return err
	}
	if err := g.Pause(ctx); err != nil {
		box.Paused = was
		back := m.core.Ledger.UpdateBox(ctx, *box, m.core.About(*box, forkbox.EventResumed, "it could not be paused: "+err.Error()))
		if back != nil {
			m.core.Log.ErrorContext(ctx, "cannot record that a box is not paused", "box", box.ID, "error", back)
		}
		return err
	}
	h.Govern(a, *box)
	m.Line.Runs(*box)
	return nil
}

// resume lets a box go on before it writes so: a crash in between leaves one
// that the next engine pauses again, not one that stands still and no record says
// why. The caller has the box's turn.
func (m *Manager) resume(ctx context.Context, h *core.Handle, g forkbox.Governed, box *forkbox.Box, why string) error {
	if err := g.Resume(ctx); err != nil || box.Paused == "" {
		return err
	}
	box.Paused = ""
	if err := m.core.Ledger.UpdateBox(ctx, *box, m.core.About(*box, forkbox.EventResumed, why)); err != nil {
		return err
	}
	if a := h.Current(); a != nil {
		h.Govern(a, *box)
		m.Line.Runs(*box)
	}
	return nil
}

// ResumeToStop lets a box go on that is about to be stopped: what stands still
// cannot end by itself, and on some kernels not be killed. One that was paused
// to save the host's reserve gets no time to write more.
func (m *Manager) ResumeToStop(ctx context.Context, h *core.Handle, a *core.Attached, grace time.Duration) time.Duration {
	g, ok := a.Instance.(forkbox.Governed)
	why := h.PausedWhy(a)
	if !ok || why == "" {
		return grace
	}
	if err := g.Resume(ctx); err != nil {
		m.core.Log.WarnContext(ctx, "cannot resume a box that is to stop", "box", h.ID, "error", err)
	}
	if strings.HasPrefix(why, Reserved) {
		return 0
	}
	return grace
}

// PauseAgain has a box stand still that the record says does.
func (m *Manager) PauseAgain(ctx context.Context, a *core.Attached, box forkbox.Box) {
	g, ok := a.Instance.(forkbox.Governed)
	if !ok || box.Paused == "" {
		return
	}
	if err := g.Pause(ctx); err != nil {
		m.core.Log.ErrorContext(ctx, "cannot pause a box again", "box", box.ID, "error", err)
	}
}

// NotPaused refuses to run something in a box that stands still.
func NotPaused(op string, box forkbox.Box) error {
	if box.Paused == "" {
		return nil
	}
	paused := forkbox.Errorf(forkbox.Busy, op, "%s is paused: %s", box.Name, box.Paused)
	if strings.HasPrefix(box.Paused, Reserved) {
		return paused.Hint("free some: forkbox gc, or forkbox rm BOX; it then goes on by itself")
	}
	return paused.Hint("let it go on: forkbox resume %s", box.Name)
}

// GovernAgain has a box that was found running be as the ledger says: an engine
// that was killed may have got no further than half of a change.
func (m *Manager) GovernAgain(ctx context.Context, box forkbox.Box, instance forkbox.Instance) {
	failed := func(what string, err error) {
		if err != nil {
			m.core.Log.WarnContext(ctx, "cannot "+what+" a box that was found running", "box", box.ID, "error", err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, AnswerLimit) // one that does not answer holds up no other
	defer cancel()
	if g := m.governor(); g != nil && len(box.Policy) > 0 {
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

// freeze pauses a box that must not go on at once: it stands still before
// the holder of its turn is waited for, and before that is written down. The
// next engine lets go on what nothing is written of, and looks again.
func (m *Manager) freeze(h *core.Handle, a *core.Attached, why string, kind forkbox.EventKind) error {
	g, ok := a.Instance.(forkbox.Governed)
	if !ok {
		return forkbox.Errorf(forkbox.Unsupported, "pause box", "provider %s cannot", m.core.Provider.Name())
	}
	if err := g.Pause(m.core.Ctx); err != nil {
		return err
	}
	return m.core.WhileCurrent(h, a, func(ctx context.Context, box *forkbox.Box) error {
		if box.Paused != "" {
			return nil
		}
		return m.pause(ctx, h, a, g, box, why, m.core.About(*box, kind, why))
	})
}
