package engine

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/land"
)

// rebaser is a provider whose layers say where in reality the directories come
// from that a box has moved. When such a move lands, or is undone, that has to
// be rewritten, or the box would no longer see what is in them. Only in what is
// the box's own: to every other box, and to snapshots, a landing is what any
// other edit of reality is.
type rebaser interface {
	// Rebase adapts a box that does not run. Of its layers only those that
	// are its own can be written to; where it takes another, that is an
	// Unsupported error, and nothing was done. The same id can be repeated.
	Rebase(ctx context.Context, box forkbox.Box, id string, moves []forkbox.Move, own []string) error
	// HasMoved says whether a box's layers have made all of these moves.
	HasMoved(ctx context.Context, box forkbox.Box, moves []forkbox.Move) (bool, error)
}

// moving does something to reality that moves directories of a box's base.
// The caller has the box's turn; the box is brought to rest. That it has to be
// rebased is written down before, so that a restart knows.
func (e *Engine) moving(ctx context.Context, op string, h *handle, box *forkbox.Box, receipt string, do func() error) error {
	provider, ok := e.provider.(rebaser)
	if !ok {
		return do()
	}
	if err := e.quiet(ctx, op, h, box); err != nil {
		return err
	}
	if err := e.saved(ctx, box); err != nil {
		return err
	}
	box.Rebase = receipt
	if err := e.ledger.UpdateBox(ctx, *box); err != nil {
		return err
	}
	if err := do(); err != nil {
		box.Rebase = ""
		_ = e.ledger.UpdateBox(ctx, *box) // it is found again at the next start
		return err
	}
	return e.rebased(ctx, provider, box)
}

// rebased adapts a box to where its receipt stands now.
func (e *Engine) rebased(ctx context.Context, provider rebaser, box *forkbox.Box) error {
	r, err := e.ledger.Receipt(ctx, box.Rebase)
	if err != nil && !isNotFound(err) {
		return err
	}
	if err == nil {
		moves, err := e.moves(r.ID)
		if err != nil {
			return err
		}
		id := r.ID
		if !r.Undone.IsZero() {
			id += " undone"
			for i, m := range moves {
				moves[i] = forkbox.Move{From: m.To, To: m.From}
			}
		}
		if err := e.rebase(ctx, provider, box, id, moves); err != nil {
			return e.note(ctx, box, "cannot be adapted to what landed", err)
		}
		box.Base.Moved = slices.DeleteFunc(slices.Clone(box.Base.Moved), func(id string) bool { return id == r.ID })
		if r.Undone.IsZero() {
			box.Base.Moved = append(box.Base.Moved, r.ID)
		}
	}
	box.Rebase = ""
	return e.ledger.UpdateBox(ctx, *box)
}

// rebase adapts a box. Where that takes a layer that others have as well, or
// one is in the way of another, the box gets one layer that shows the same as
// all of them, and is its own.
func (e *Engine) rebase(ctx context.Context, provider rebaser, box *forkbox.Box, id string, moves []forkbox.Move) error {
	own, err := e.ownLayers(ctx, *box)
	if err != nil {
		return err
	}
	err = provider.Rebase(ctx, *box, id, moves, own)
	p, ok := e.provider.(layered)
	if forkbox.CodeOf(err) != forkbox.Unsupported || !ok {
		return err
	}
	if err := e.intoOne(ctx, p, box); err != nil {
		return err
	}
	return provider.Rebase(ctx, *box, id, moves, box.Layers)
}

// ownLayers are those layers of a box that nothing else has. The caller has its
// turn, so that there will be no more that do.
func (e *Engine) ownLayers(ctx context.Context, box forkbox.Box) ([]string, error) {
	boxes, err := e.ledger.Boxes(ctx, nil)
	if err != nil {
		return nil, err
	}
	snapshots, err := e.ledger.SnapshotsOf(ctx, nil)
	if err != nil {
		return nil, err
	}
	templates, err := e.ledger.Templates(ctx, nil)
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
func (e *Engine) intoOne(ctx context.Context, p layered, box *forkbox.Box) error {
	top, merged := newID(), newID()
	defer e.creating(merged)()
	if err := e.ledger.KnowLayers(ctx, top, merged); err != nil {
		return err
	}
	blank, err := p.Blank(ctx, *box)
	if err == nil && !blank {
		box.Layers, box.Saving = prepend(top, box.Layers), top
		box.Shelved++
		err = e.ledger.UpdateBox(ctx, *box)
	}
	if err == nil {
		err = e.saved(ctx, box)
	}
	if err != nil {
		return err
	}
	if err := p.Flatten(ctx, box.Layers, merged); err != nil {
		return err
	}
	box.Layers = []string{merged}
	return e.ledger.UpdateBox(ctx, *box)
}

// adapted finishes a rebase that failed or was interrupted, and adapts the box
// to those landings that were undone since it began, which another box made:
// until then it does not show what it should. The caller has the box's turn, and
// the box is at rest.
func (e *Engine) adapted(ctx context.Context, box *forkbox.Box) error {
	provider, ok := e.provider.(rebaser)
	if !ok {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	if box.Rebase != "" {
		if err := e.rebased(ctx, provider, box); err != nil {
			return err
		}
	}
	undone, err := e.undoneMoves(ctx, *box)
	for _, id := range undone {
		box.Rebase = id
		if err := e.ledger.UpdateBox(ctx, *box); err != nil {
			return err
		}
		if err := e.rebased(ctx, provider, box); err != nil {
			return err
		}
	}
	return err
}

// adaptedBack adapts a box that was rolled back to what it landed since: its
// layers have moved directories from where reality has them no longer. The
// caller has the box's turn, and the box is at rest.
func (e *Engine) adaptedBack(ctx context.Context, box *forkbox.Box) error {
	provider, ok := e.provider.(rebaser)
	if !ok || e.receipts == "" {
		return nil
	}
	receipts, err := e.ledger.ReceiptsOf(ctx, box.ID)
	if err != nil {
		return err
	}
	for _, r := range receipts {
		if r.State != forkbox.Applied || slices.Contains(box.Base.Moved, r.ID) {
			continue
		}
		moves, err := e.moves(r.ID)
		if err != nil || len(moves) == 0 {
			continue // what it moved is not known any more
		}
		if moved, err := provider.HasMoved(ctx, *box, moves); err != nil || !moved {
			continue
		}
		box.Rebase = r.ID
		if err := e.ledger.UpdateBox(ctx, *box); err != nil {
			return err
		}
		if err := e.rebased(ctx, provider, box); err != nil {
			return err
		}
	}
	return nil
}

// undoneMoves are the landings that a box's layers know of and that reality
// does not have any more, newest first.
func (e *Engine) undoneMoves(ctx context.Context, box forkbox.Box) (undone []string, err error) {
	for _, id := range slices.Backward(box.Base.Moved) {
		r, err := e.ledger.Receipt(ctx, id)
		switch {
		case isNotFound(err):
		case err != nil:
			return nil, err
		case !r.Undone.IsZero():
			undone = append(undone, id)
		}
	}
	return undone, nil
}

// adaptedAtRest is adapted for a box that may run.
func (e *Engine) adaptedAtRest(ctx context.Context, op string, h *handle, box *forkbox.Box) error {
	if err := e.settleSync(ctx, h, box); err != nil {
		return err
	}
	undone, err := e.undoneMoves(ctx, *box)
	if err != nil || box.Rebase == "" && len(undone) == 0 {
		return err
	}
	if err := e.quiet(ctx, op, h, box); err != nil {
		return err
	}
	return e.adapted(ctx, box)
}

// moves lists the directories that a receipt moved.
func (e *Engine) moves(receipt string) (moves []forkbox.Move, err error) {
	err = land.Moves(filepath.Join(e.receipts, receipt), func(x land.Entry) error {
		moves = append(moves, forkbox.Move{From: x.From, To: x.Path})
		return nil
	})
	return moves, err
}

// finishRebases adapts boxes whose rebase a crash interrupted. Receipts are
// settled by now.
func (e *Engine) finishRebases(ctx context.Context, boxes []forkbox.Box) {
	provider, ok := e.provider.(rebaser)
	if !ok {
		return
	}
	for _, box := range boxes {
		if box.Rebase == "" {
			continue
		}
		if err := e.rebased(ctx, provider, &box); err != nil {
			e.log.Error("cannot adapt a box to what landed", "box", box.ID, "error", err)
		}
	}
}
