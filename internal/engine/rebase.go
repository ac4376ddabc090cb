package engine

import (
	"context"
	"path/filepath"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/land"
)

// rebaser is a provider whose layers say where in reality the directories come
// from that a box has moved. When such a move lands, or is undone, they have to
// be rewritten, or the box would no longer see what is in them.
type rebaser interface {
	// Rebase adapts a box that does not run, and the layers of other stacks
	// that are related to it. The same id can be repeated.
	Rebase(ctx context.Context, box forkbox.Box, id string, moves []forkbox.Move, others [][]string) error
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
	release, err := e.holdSharers(ctx, op, *box)
	if err != nil {
		return err
	}
	defer release()
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
	}
	box.Rebase = ""
	return e.ledger.UpdateBox(ctx, *box)
}

// rebase adapts a box and what is related to it. Where a layer is in the way
// of another, the box gets one that shows the same as all of them: that one can
// always be adapted.
func (e *Engine) rebase(ctx context.Context, provider rebaser, box *forkbox.Box, id string, moves []forkbox.Move) error {
	k, err := e.kinOf(ctx, *box)
	if err != nil {
		return err
	}
	err = provider.Rebase(ctx, *box, id, moves, k.stacks)
	p, ok := e.provider.(layered)
	if forkbox.CodeOf(err) != forkbox.Unsupported || !ok {
		return err
	}
	if err := e.intoOne(ctx, p, box); err != nil {
		return err
	}
	return provider.Rebase(ctx, *box, id, moves, k.stacks)
}

// intoOne has a box at rest be one layer, with nothing of its own above it.
func (e *Engine) intoOne(ctx context.Context, p layered, box *forkbox.Box) error {
	top, merged := newID(), newID()
	defer e.creating(merged)()
	if err := e.ledger.KnowLayers(ctx, top, merged); err != nil {
		return err
	}
	box.Layers, box.Saving = prepend(top, box.Layers), top
	box.Shelved++
	if err := e.ledger.UpdateBox(ctx, *box); err != nil {
		return err
	}
	if err := e.saved(ctx, box); err != nil {
		return err
	}
	if err := p.Flatten(ctx, box.Layers, merged); err != nil {
		return err
	}
	box.Layers = []string{merged}
	return e.ledger.UpdateBox(ctx, *box)
}

// adapted finishes a rebase that failed or was interrupted: until then the box
// does not show what it should. The caller has the box's turn.
func (e *Engine) adapted(ctx context.Context, box *forkbox.Box) error {
	provider, ok := e.provider.(rebaser)
	if !ok || box.Rebase == "" {
		return nil
	}
	release, err := e.holdSharers(ctx, "adapt the box to what landed", *box)
	if err != nil {
		return err
	}
	defer release()
	return e.rebased(context.WithoutCancel(ctx), provider, box)
}

// moves lists the directories that a receipt moved.
func (e *Engine) moves(receipt string) (moves []forkbox.Move, err error) {
	err = land.Entries(filepath.Join(e.receipts, receipt), func(x land.Entry) error {
		if x.Op == land.Move {
			moves = append(moves, forkbox.Move{From: x.From, To: x.Path})
		}
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
