package shelf

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
	"github.com/forkbox/forkbox/internal/storage/land"
)

// Rebaser is a provider whose layers say where in reality the directories come
// from that a box has moved. When such a move lands, or is undone, that has to
// be rewritten, or the box would no longer see what is in them. Only in what is
// the box's own: to every other box, and to snapshots, a landing is what any
// other edit of reality is. A box that is made of a snapshot later is adapted
// itself.
type Rebaser interface {
	// Rebase adapts a box that does not run. Of its layers only those that
	// are its own can be written to; where it takes another, that is an
	// Unsupported error, and nothing was done. The same id can be repeated.
	Rebase(ctx context.Context, box forkbox.Box, id string, moves []forkbox.Move, own []string) error
	// HasMoved says whether a box's layers have made all of these moves.
	HasMoved(ctx context.Context, box forkbox.Box, moves []forkbox.Move) (bool, error)
}

// AdaptToReceipt adapts a box to where its receipt stands now. One that its layers
// know of already, as after an undo that was interrupted and did not happen, it must
// not be adapted to again: it may have moved other directories there since.
func (m *Manager) AdaptToReceipt(ctx context.Context, provider Rebaser, box *forkbox.Box) error {
	r, err := m.core.Ledger.Receipt(ctx, box.Rebase)
	if err != nil && !core.IsNotFound(err) {
		return err
	}
	if err == nil && slices.Contains(box.Base.Moved, r.ID) != r.Undone.IsZero() {
		moves, err := m.Moves(r.ID)
		if err != nil {
			return err
		}
		id := r.ID
		if !r.Undone.IsZero() {
			id += " undone"
			for i, move := range moves {
				moves[i] = forkbox.Move{From: move.To, To: move.From}
			}
		}
		if err := m.rebase(ctx, provider, box, id, moves); err != nil {
			return m.core.Note(ctx, box, "cannot be adapted to what landed", err)
		}
		box.Base.Moved = slices.DeleteFunc(slices.Clone(box.Base.Moved), func(id string) bool { return id == r.ID })
		if r.Undone.IsZero() {
			box.Base.Moved = append(box.Base.Moved, r.ID)
		}
	}
	box.Rebase = ""
	return m.core.Ledger.UpdateBox(ctx, *box)
}

// rebase adapts a box. Where that takes a layer that others have as well, or
// one is in the way of another, the box gets one layer that shows the same as
// all of them, and is its own.
func (m *Manager) rebase(ctx context.Context, provider Rebaser, box *forkbox.Box, id string, moves []forkbox.Move) error {
	own, err := m.ownLayers(ctx, *box)
	if err != nil {
		return err
	}
	err = provider.Rebase(ctx, *box, id, moves, own)
	p, ok := m.core.Provider.(core.Layered)
	if forkbox.CodeOf(err) != forkbox.Unsupported || !ok {
		return err
	}
	if err := m.intoOne(ctx, p, box); err != nil {
		return err
	}
	return provider.Rebase(ctx, *box, id, moves, box.Layers)
}

// ownLayers are those layers of a box that nothing else has. The caller has its
// turn, so that there will be no more that do.
func (m *Manager) ownLayers(ctx context.Context, box forkbox.Box) ([]string, error) {
	boxes, err := m.core.Ledger.Boxes(ctx, nil)
	if err != nil {
		return nil, err
	}
	snapshots, err := m.core.Ledger.SnapshotsOf(ctx, nil)
	if err != nil {
		return nil, err
	}
	templates, err := m.core.Ledger.Templates(ctx, nil)
	if err != nil {
		return nil, err
	}
	own := slices.Clone(box.Layers)
	without := func(layers []string) {
		own = slices.DeleteFunc(own, func(l string) bool { return slices.Contains(layers, l) })
	}
	for _, b := range boxes {
		if b.ID != box.ID {
			without(b.Layers)
		}
	}
	for _, s := range snapshots {
		without(s.Layers)
	}
	for _, t := range templates {
		without(t.Layers)
	}
	return own, nil
}

// intoOne has a box at rest be one layer, with nothing of its own above it.
func (m *Manager) intoOne(ctx context.Context, p core.Layered, box *forkbox.Box) error {
	top, merged := core.NewID(), core.NewID()
	defer m.KeepLayers(merged)()
	if err := m.core.Ledger.KnowLayers(ctx, top, merged); err != nil {
		return err
	}
	blank, err := p.Blank(ctx, *box)
	if err == nil && !blank {
		box.Layers, box.Saving = Prepend(top, box.Layers), top
		box.Shelved++
		err = m.core.Ledger.UpdateBox(ctx, *box)
	}
	if err == nil {
		err = m.ShelveTop(ctx, box)
	}
	if err != nil {
		return err
	}
	if err := p.Flatten(ctx, box.Layers, merged); err != nil {
		return err
	}
	box.Layers = []string{merged}
	return m.core.Ledger.UpdateBox(ctx, *box)
}

// Adapt finishes a rebase that failed or was interrupted, and adapts the box
// to those landings that were undone since it began, which another box made:
// until then it does not show what it should. The caller has the box's turn, and
// the box is at rest.
func (m *Manager) Adapt(ctx context.Context, box *forkbox.Box) error {
	provider, ok := m.core.Provider.(Rebaser)
	if !ok {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	if box.Rebase != "" {
		if err := m.AdaptToReceipt(ctx, provider, box); err != nil {
			return err
		}
	}
	undone, err := m.UndoneMoves(ctx, *box)
	for _, id := range undone {
		box.Rebase = id
		if err := m.core.Ledger.UpdateBox(ctx, *box); err != nil {
			return err
		}
		if err := m.AdaptToReceipt(ctx, provider, box); err != nil {
			return err
		}
	}
	return err
}

// AdaptToOwnLandings adapts a box that was rolled back to what it landed since: its
// layers have moved directories from where reality has them no longer. The
// caller has the box's turn, and the box is at rest.
func (m *Manager) AdaptToOwnLandings(ctx context.Context, box *forkbox.Box) error {
	provider, ok := m.core.Provider.(Rebaser)
	if !ok {
		return nil
	}
	for {
		landed, err := m.LandedSince(ctx, *box, box.ID)
		if err != nil || landed == "" {
			return err
		}
		box.Rebase = landed
		if err := m.core.Ledger.UpdateBox(ctx, *box); err != nil {
			return err
		}
		if err := m.AdaptToReceipt(ctx, provider, box); err != nil {
			return err
		}
	}
}

// LandedSince is the first landing, by the box of that id, of moves that a box's
// layers have made and are not adapted to; "" if there is none. The box may be the
// same, rolled back, or one that is made of an older snapshot of it.
func (m *Manager) LandedSince(ctx context.Context, box forkbox.Box, by string) (receipt string, err error) {
	provider, ok := m.core.Provider.(Rebaser)
	if !ok || m.core.Receipts == "" {
		return "", nil
	}
	receipts, err := m.core.Ledger.ReceiptsOf(ctx, by)
	for _, r := range receipts {
		if r.State != forkbox.Applied || slices.Contains(box.Base.Moved, r.ID) {
			continue
		}
		moves, err := m.Moves(r.ID)
		if err != nil || len(moves) == 0 {
			continue // what it moved is not known any more
		}
		if moved, err := provider.HasMoved(ctx, box, moves); err == nil && moved {
			return r.ID, nil
		}
	}
	return "", err
}

// UndoneMoves are the landings that a box's layers know of and that reality
// does not have any more, newest first.
func (m *Manager) UndoneMoves(ctx context.Context, box forkbox.Box) (undone []string, err error) {
	for _, id := range slices.Backward(box.Base.Moved) {
		r, err := m.core.Ledger.Receipt(ctx, id)
		switch {
		case core.IsNotFound(err):
		case err != nil:
			return nil, err
		case !r.Undone.IsZero():
			undone = append(undone, id)
		}
	}
	return undone, nil
}

// Moves lists the directories that a receipt moved.
func (m *Manager) Moves(receipt string) (moves []forkbox.Move, err error) {
	err = land.Moves(filepath.Join(m.core.Receipts, receipt), func(x land.Entry) error {
		moves = append(moves, forkbox.Move{From: x.From, To: x.Path})
		return nil
	})
	return moves, err
}

// FinishRebases adapts boxes whose rebase a crash interrupted. Receipts are
// settled by now.
func (m *Manager) FinishRebases(ctx context.Context, boxes []forkbox.Box) {
	provider, ok := m.core.Provider.(Rebaser)
	if !ok {
		return
	}
	for _, box := range boxes {
		if box.Rebase == "" {
			continue
		}
		if err := m.AdaptToReceipt(ctx, provider, &box); err != nil {
			m.core.Log.ErrorContext(ctx, "cannot adapt a box to what landed", "box", box.ID, "error", err)
		}
	}
}
