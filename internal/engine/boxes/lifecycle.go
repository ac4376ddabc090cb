package boxes

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
	"github.com/forkbox/forkbox/internal/engine/network"
)

// Stop ends everything in a box. A nil grace is the usual one. It can be
// repeated.
func (m *Manager) Stop(ctx context.Context, who forkbox.Owner, ref string, grace *time.Duration) (forkbox.Box, error) {
	return m.core.Change(ctx, "stop box", who, ref, func(ctx context.Context, h *core.Handle, box *forkbox.Box) error {
		return m.StopInTurn(ctx, who, h, box, grace)
	})
}

// StopInTurn is Stop for a caller who has the box's turn.
func (m *Manager) StopInTurn(ctx context.Context, who forkbox.Owner, h *core.Handle, box *forkbox.Box, grace *time.Duration) error {
	if err := core.Usable("stop box", *box); err != nil {
		return err
	}
	// What has begun is finished: a caller who gives up would leave a box
	// that is neither running nor stopped.
	ctx = context.WithoutCancel(ctx)
	if err := m.Pin(ctx, h, box, false); err != nil {
		return err
	}
	a, err := m.Find(ctx, h, box)
	if err != nil || a == nil {
		return err
	}
	why := core.Ending{Cause: forkbox.CauseStopped, By: core.ByUser(who), Why: "the box was stopped"}
	return m.haltFor(ctx, h, a, box, m.grace(grace), why)
}

// Remove deletes a box. One that is doing something needs force.
func (m *Manager) Remove(ctx context.Context, who forkbox.Owner, ref string, force bool) error {
	_, err := m.core.Change(ctx, "remove box", who, ref, func(ctx context.Context, h *core.Handle, box *forkbox.Box) error {
		if !force {
			if err := m.InUse(ctx, h, *box); err != nil {
				return err
			}
		}
		return m.RemoveInTurn(context.WithoutCancel(ctx), h, box)
	})
	return err
}

// Pin writes whether the box stays when it idles. The caller has its turn.
func (m *Manager) Pin(ctx context.Context, h *core.Handle, box *forkbox.Box, pinned bool) error {
	if box.Pinned != pinned {
		box.Pinned = pinned
		if err := m.core.Ledger.UpdateBox(ctx, *box); err != nil {
			return err
		}
	}
	h.Mu.Lock()
	defer h.Mu.Unlock()
	if h.Attached != nil {
		t := tended.Of(h.Attached)
		t.pinned, t.idleSince = pinned, time.Now()
	}
	return nil
}

// Halt stops an instance. The ledger says "running" until it is gone: were it
// the other way round, a crash in between would leave a box running that the
// ledger believes at rest. The caller has the box's turn.
func (m *Manager) Halt(ctx context.Context, h *core.Handle, a *core.Attached, box *forkbox.Box, grace time.Duration) error {
	return m.haltFor(ctx, h, a, box, grace, core.Ending{Cause: forkbox.CauseStopped})
}

// haltFor is halt with a reason, which the execs that end with it get, and what
// else is told with it.
func (m *Manager) haltFor(ctx context.Context, h *core.Handle, a *core.Attached, box *forkbox.Box, grace time.Duration, why core.Ending, tell ...forkbox.Event) error {
	if err := m.End(ctx, h, a, grace, why); err != nil {
		return err
	}
	box.State, box.Note, box.Paused = forkbox.Stopped, network.Note(*box), ""
	tell = append(tell, m.stopped(*box, forkbox.Exit{Cause: why.Cause, By: why.By, Why: why.Why}))
	return m.core.Ledger.UpdateBox(ctx, *box, tell...)
}

// End ends an instance and its execs. The caller has the box's turn.
func (m *Manager) End(ctx context.Context, h *core.Handle, a *core.Attached, grace time.Duration, why core.Ending) error {
	why.AtOnce = grace == 0
	h.SetEnding(a, &why)
	grace = m.limits.ResumeToStop(ctx, h, a, grace)
	if grace > 0 {
		m.hooks.TakeDown(ctx, h, a, grace)
	}
	if err := a.Instance.Stop(ctx, grace); err != nil {
		h.SetEnding(a, nil)
		return err
	}
	select { // the last exits arrive before the instance is done
	case <-a.Instance.Done():
	case <-ctx.Done():
	}
	m.settle(h, a, nil, why.Unasked())
	m.detach(h, a)
	return nil
}

// RemoveInTurn deletes a box, whatever state it is in, for a caller who has its
// turn.
func (m *Manager) RemoveInTurn(ctx context.Context, h *core.Handle, box *forkbox.Box) error {
	mayRun, made := box.State != forkbox.Stopped, box.State != forkbox.Creating
	box.Ran = box.Ran || box.State == forkbox.Running
	box.State, box.Pinned = forkbox.Removing, false
	if err := m.core.Ledger.UpdateBox(ctx, *box); err != nil {
		return err
	}
	if mayRun {
		if err := m.clear(ctx, h, *box); err != nil {
			return m.core.Note(ctx, box, "cannot remove it", err)
		}
	}
	if err := m.erase(ctx, *box, made); err != nil {
		return m.core.Note(ctx, box, "cannot remove it", err)
	}
	if len(box.Layers) > 0 || box.At != "" || !box.Base.IsReality() {
		m.shelf.SweepSoon()
	}
	return nil
}

// removedWhy is why what runs in a box ends with the box.
const removedWhy = "the box was removed"

// clear ends the instance of a box that is to go, known or not.
func (m *Manager) clear(ctx context.Context, h *core.Handle, box forkbox.Box) error {
	if a := h.Current(); a != nil {
		return m.End(ctx, h, a, 0, core.Ending{Cause: forkbox.CauseStopped, Why: removedWhy})
	}
	instance, err := m.core.Provider.Attach(ctx, box)
	if core.IsNotFound(err) {
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

// InUse is a Busy error when a box has execs or processes.
func (m *Manager) InUse(ctx context.Context, h *core.Handle, box forkbox.Box) error {
	if box.State != forkbox.Running {
		return nil
	}
	a, err := m.Find(ctx, h, &box)
	if err != nil || a == nil {
		return err
	}
	h.Mu.Lock()
	execs, visits := len(a.Execs), a.Visits
	h.Mu.Unlock()
	ps, err := a.Instance.Processes(ctx)
	if err == nil && execs == 0 && visits == 0 && !core.BeyondInit(ps) {
		return nil
	}
	why := "processes are running in it"
	switch {
	case execs > 0:
		why = fmt.Sprintf("%d of its execs are running", execs)
	case visits > 0:
		why = "files of it are being read or written"
	}
	return forkbox.Errorf(forkbox.Busy, "remove box "+box.Name, "%s", why).
		Hint("end them and remove it: forkbox rm -f %s", box.Name).
		Hint("see them: forkbox ps %s", box.Name)
}

func (m *Manager) grace(asked *time.Duration) time.Duration {
	if asked != nil {
		return *asked
	}
	return m.StopGrace
}

// BringToRest brings a box to rest whose files are to be changed from outside. One
// in which something runs stays as it is, and the caller is told.
func (m *Manager) BringToRest(ctx context.Context, op string, h *core.Handle, box *forkbox.Box) error {
	if err := m.InUse(ctx, h, *box); err != nil {
		var busy *forkbox.Error
		if errors.As(err, &busy) && busy.Code == forkbox.Busy {
			return forkbox.Errorf(forkbox.Busy, op, "%s", busy.Why).Hint("stop it first: forkbox stop %s", box.Name)
		}
		return err
	}
	a, err := m.Find(ctx, h, box)
	if err != nil || a == nil {
		return err
	}
	return m.Halt(context.WithoutCancel(ctx), h, a, box, m.StopGrace)
}

// Erase removes everything of a box that was never made whole, the ledger's
// knowledge of it last. Nothing is told: nothing told of its making either.
func (m *Manager) Erase(ctx context.Context, box forkbox.Box) error { return m.erase(ctx, box, false) }

// erase removes everything of a box that does not run.
func (m *Manager) erase(ctx context.Context, box forkbox.Box, tell bool) error {
	if err := m.core.Provider.Remove(ctx, box); err != nil {
		return err
	}
	if err := m.network.RemoveNet(box); err != nil {
		return err
	}
	var told []forkbox.Event
	if tell && box.Ran {
		told = append(told, m.stopped(box, forkbox.Exit{Cause: forkbox.CauseStopped, Why: removedWhy}))
	}
	if tell {
		told = append(told, m.core.About(box, forkbox.EventBoxRemoved, "it and its files are gone"))
	}
	if err := m.core.Ledger.DeleteBox(ctx, box.ID, told...); err != nil {
		return err
	}
	m.hooks.ForgetSync(box)
	m.limits.Line.Exists(box, -1)
	m.limits.DropSeries(box.ID)
	m.network.EndFollowers(box.ID)
	return nil
}

// ReconcileOne makes one box agree with the ledger: one that was being made or
// removed goes, one that runs is attached again.
func (m *Manager) ReconcileOne(ctx context.Context, box forkbox.Box) error {
	h, unlock, err := m.core.Lock(ctx, box.ID)
	if err != nil {
		return err
	}
	defer unlock()
	if box.Settles != "" {
		return m.RemoveInTurn(ctx, h, &box)
	}
	if box.State == forkbox.Running {
		_, err := m.Find(ctx, h, &box)
		return err
	}
	if box.State == forkbox.Creating && m.core.IsKept(box.ID) {
		// Only a box that was made has a record: this ledger is an older one.
		box.State = forkbox.Stopped
		return m.core.Ledger.UpdateBox(ctx, box, m.core.About(box, forkbox.EventBoxCreated, "it was found in the store"))
	}
	return m.RemoveInTurn(ctx, h, &box)
}
