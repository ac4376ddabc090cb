package snapshots

import (
	"context"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
	"github.com/forkbox/forkbox/internal/engine/limits"
)

// SettleAtRest brings a box to rest in which nothing runs, as its layers are about
// to change, and finishes what is unfinished. One in which something runs is a
// Busy error. The caller has the box's turn.
func (m *Manager) SettleAtRest(ctx context.Context, op string, h *core.Handle, box *forkbox.Box) error {
	if err := core.Usable(op, *box); err != nil {
		return err
	}
	if err := m.boxes.SettleSync(ctx, h, box); err != nil {
		return err
	}
	if err := m.boxes.InUse(ctx, h, *box); err != nil {
		return err
	}
	a, err := m.boxes.Find(ctx, h, box)
	if err != nil {
		return err
	}
	if a != nil && box.Paused != "" { // it stays so
		return limits.NotPaused(op, *box)
	}
	if a != nil {
		if err := m.killAll(context.WithoutCancel(ctx), h, a, box); err != nil {
			return err
		}
	}
	m.shelf.Shorten(box)
	if err := m.shelf.ShelveTop(ctx, box); err != nil {
		return err
	}
	return m.shelf.Adapt(ctx, box)
}

// abandoned is an instance that can be killed without waiting for its end.
type abandoned interface{ Abandon() error }

// killAll ends an instance in which nothing runs. It is killed, so it does nothing
// any more, and its layers can be worked on; but its mounts take a while to be
// taken down, and only the next caller who uses the box has to wait for that. The
// caller has the box's turn by way of [core.Core.Change], and writes the box.
func (m *Manager) killAll(ctx context.Context, h *core.Handle, a *core.Attached, box *forkbox.Box) error {
	i, ok := a.Instance.(abandoned)
	if !ok || box.Pinned || h.Rest != nil { // pinned: it is started again at once
		return m.boxes.Halt(ctx, h, a, box, 0)
	}
	why := core.Ending{Cause: forkbox.CauseStopped, AtOnce: true}
	h.SetEnding(a, &why)
	if err := i.Abandon(); err != nil {
		h.SetEnding(a, nil)
		return err
	}
	h.Untold = append(h.Untold, core.With(m.core.About(*box, forkbox.EventBoxStopped, "it came to rest"), forkbox.EventData{Cause: string(why.Cause)}))
	h.Rest = func() {
		err := m.boxes.End(ctx, h, a, 0, why)
		if err == nil {
			err = m.recordRest(ctx, h)
		}
		if err != nil {
			m.core.Log.ErrorContext(ctx, "cannot bring a box to rest", "box", h.ID, "error", err)
		}
	}
	box.State, box.Note = forkbox.Stopped, ""
	return nil
}

// recordRest writes that a box is at rest, and tells it, unless that was done.
func (m *Manager) recordRest(ctx context.Context, h *core.Handle) error {
	told := h.TakeUntold()
	box, err := m.core.Ledger.Box(ctx, h.ID)
	if err != nil {
		return err
	}
	if box.State != forkbox.Running {
		for _, e := range told {
			m.core.Tell(e)
		}
		return nil
	}
	box.State, box.Note, box.Paused = forkbox.Stopped, "", ""
	return m.core.Ledger.UpdateBox(ctx, box, told...)
}
