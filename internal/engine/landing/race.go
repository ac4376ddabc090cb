package landing

import (
	"context"
	"errors"
	"slices"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
)

// Supersede marks boxes of who's, by their ids, as having lost to the box of a
// receipt. An undo of that takes the mark back. Those that are gone are passed
// over.
func (m *Manager) Supersede(ctx context.Context, who forkbox.Owner, boxes []string, receipt string) error {
	ctx, end, err := m.core.Begin(ctx, "mark boxes stale")
	if err != nil {
		return err
	}
	defer end()
	r, err := m.core.Ledger.Receipt(ctx, receipt)
	if err != nil {
		return err
	}
	lost := forkbox.Staleness{Receipt: r.ID, Box: r.BoxName, Lost: true}
	for _, id := range boxes {
		box, err := m.core.Ledger.Box(ctx, id)
		if core.IsNotFound(err) || err == nil && (box.Owner.UID != who.UID || box.ID == r.Box || box.Stale != nil && *box.Stale == lost) {
			continue
		}
		if err != nil {
			return err
		}
		m.updateBox(ctx, id, func(b *forkbox.Box) []forkbox.Event {
			b.Stale = &lost
			told := m.core.About(*b, forkbox.EventBoxStale, r.BoxName+" of the same race landed")
			told.Receipt = r.ID
			return []forkbox.Event{told}
		})
	}
	return nil
}

// Why [Manager.Land] refuses what [Manager.Apply] would land.
var (
	// ErrAltered says that the box is not what the snapshot is any more.
	ErrAltered = errors.New("its box was changed since")
	// ErrDrifted says that reality has changed paths that would land, since the
	// box was forked or synced: what would land is a merge that its owner never saw.
	ErrDrifted = errors.New("reality has changed paths that would land")
)

// Land is Apply of a box that is at rest exactly what a snapshot of it is, and
// lands exactly that: no merge. Without a snapshot it is Apply.
//
// What remains: reality belongs to others, who can write to it between the look
// at it and the landing, a few milliseconds later. A path that lands and that
// they change then is noticed when it is replaced, and nothing lands, or it is
// merged; what they change beside it stays, and lands unjudged next to it.
func (m *Manager) Land(ctx context.Context, who forkbox.Owner, ref, snapshot string, spec forkbox.ApplySpec) (receipt forkbox.Receipt, err error) {
	const op = "apply"
	if snapshot == "" {
		return m.Apply(ctx, who, ref, spec)
	}
	if err := checkApply(op, spec); err != nil {
		return receipt, err
	}
	release, err := m.HoldReality(ctx, op)
	if err != nil {
		return receipt, err
	}
	defer release()
	_, err = m.core.Change(ctx, op, who, ref, func(ctx context.Context, h *core.Handle, box *forkbox.Box) error {
		if err := onReality(op, *box); err != nil {
			return err
		}
		same, err := m.stillIs(ctx, op, h, box, snapshot)
		if err == nil && !same {
			err = forkbox.Errorf(forkbox.Unconfirmed, op, "%w", ErrAltered)
		}
		if err == nil {
			m.settleInterrupted(context.WithoutCancel(ctx))
			receipt, err = m.LandUnmerged(ctx, h, *box, who, spec)
		}
		return errors.Join(err, m.awakeAgain(ctx, h, box))
	})
	return receipt, err
}

// LandUnmerged looks at what would land before it does. The caller has the
// box's turn, and reality's.
func (m *Manager) LandUnmerged(ctx context.Context, h *core.Handle, box forkbox.Box, who forkbox.Owner, spec forkbox.ApplySpec) (forkbox.Receipt, error) {
	dry := spec
	dry.DryRun = true
	a, err := m.newApplication(ctx, h, box, who, dry)
	if err != nil {
		return forkbox.Receipt{}, err
	}
	would, err := a.run(ctx)
	switch {
	case err != nil:
		return would, err
	case spec.DryRun: // reality may have changed: that is told otherwise
		return would, nil
	case would.Merged > 0:
		return forkbox.Receipt{}, forkbox.Errorf(forkbox.Conflict, "apply", "%w", ErrDrifted)
	}
	if a, err = m.newApplication(ctx, h, box, who, spec); err != nil {
		return forkbox.Receipt{}, err
	}
	return a.run(ctx)
}

// StillIs says whether a box at rest is exactly what a snapshot of it is. One in
// which something runs is a Busy error.
func (m *Manager) StillIs(ctx context.Context, who forkbox.Owner, ref, snapshot string) (same bool, err error) {
	const op = "compare box"
	_, err = m.core.Change(ctx, op, who, ref, func(ctx context.Context, h *core.Handle, box *forkbox.Box) error {
		same, err = m.stillIs(ctx, op, h, box, snapshot)
		return errors.Join(err, m.awakeAgain(ctx, h, box))
	})
	return same, err
}

// stillIs brings the box to rest. Whether it was saved as something else since,
// or rolled back to and fro, does not matter; that its fence was moved does: the
// snapshot was of another reality. The caller has the box's turn.
func (m *Manager) stillIs(ctx context.Context, op string, h *core.Handle, box *forkbox.Box, snapshot string) (bool, error) {
	p, err := m.core.Layers(op)
	if err != nil {
		return false, err
	}
	if err := m.snapshots.SettleAtRest(ctx, op, h, box); err != nil {
		return false, err
	}
	s, err := m.core.Ledger.Snapshot(ctx, box.ID, snapshot)
	if err != nil {
		if core.IsNotFound(err) { // its owner removed it, so it cannot be told
			return false, nil
		}
		return false, err
	}
	if s.ID != snapshot || !slices.Equal(s.Layers, box.Layers) || !s.Base.Fence.Equal(box.Base.Fence) {
		return false, nil
	}
	return p.Blank(ctx, *box)
}

// awakeAgain starts a box that was brought to rest and whose owner wants it
// running.
func (m *Manager) awakeAgain(ctx context.Context, h *core.Handle, box *forkbox.Box) error {
	if !box.Pinned || h.Current() != nil {
		return nil
	}
	_, err := m.boxes.Wake(context.WithoutCancel(ctx), h, box)
	return err
}
