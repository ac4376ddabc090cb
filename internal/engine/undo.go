package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/storage/held"
	"github.com/forkbox/forkbox/internal/storage/land"
)

// UndoSpec says what an undo may overwrite.
type UndoSpec = forkbox.UndoSpec

// Undo takes an apply back: all of it, or nothing.
func (e *Engine) Undo(ctx context.Context, who forkbox.Owner, ref string, spec UndoSpec) (forkbox.Receipt, error) {
	const op = "undo"
	ctx, end, err := e.begin(ctx, op)
	if err != nil {
		return forkbox.Receipt{}, err
	}
	defer end()
	release, err := e.holdReality(ctx, op)
	if err != nil {
		return forkbox.Receipt{}, err
	}
	defer release()
	e.settleInterrupted(context.WithoutCancel(ctx))
	r, err := e.findReceipt(ctx, who, ref)
	if err == nil {
		err = undoable(op, r)
	}
	if err != nil {
		return r, err
	}
	if err := e.undoHeld(op, r, spec); err != nil {
		return r, err
	}
	ctx = context.WithoutCancel(ctx)
	open, err := e.unsettle(ctx, r) // before: a crash must not forget it
	if err != nil {
		return r, err
	}
	if r, err = e.undoMoves(ctx, r, spec); err != nil {
		return r, errors.Join(err, e.settleAgain(ctx, r, open))
	}
	e.restAfterUndo(ctx, r.Box)
	if r.Commit == "" {
		return r, nil
	}
	return e.undoCommit(ctx, r)
}

// restAfterUndo sends the box to rest that the receipt was of, if it is still
// there and nothing is done to it.
func (e *Engine) restAfterUndo(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(ctx, staleLimit)
	defer cancel()
	h, unlock, err := e.lock(ctx, id)
	if err != nil {
		return
	}
	defer unlock()
	if box, err := e.ledger.Box(ctx, id); err == nil {
		e.forgetReality(ctx, h, &box)
	}
}

// undoMoves undoes a receipt. Where it moved directories, its box is adapted.
func (e *Engine) undoMoves(ctx context.Context, r forkbox.Receipt, spec UndoSpec) (forkbox.Receipt, error) {
	moves, err := e.moves(r.ID)
	if err != nil {
		return r, err
	}
	if len(moves) == 0 {
		return e.undo(ctx, r, spec)
	}
	h, unlock, err := e.lock(ctx, r.Box)
	if err != nil {
		return r, err
	}
	defer unlock()
	box, err := e.ledger.Box(ctx, r.Box)
	if isNotFound(err) {
		return e.undo(ctx, r, spec)
	}
	if err != nil {
		return r, err
	}
	if !slices.Contains(box.Base.Moved, r.ID) { // it was rolled back to before the landing
		return e.undo(ctx, r, spec)
	}
	err = e.moving(ctx, "undo", h, &box, r.ID, func() (err error) {
		r, err = e.undo(ctx, r, spec)
		return err
	})
	return r, err
}

// undoHeld refuses to undo what a process writes to, unless that was forced.
func (e *Engine) undoHeld(op string, r forkbox.Receipt, spec UndoSpec) error {
	goes := held.NewSearch()
	err := land.Puts(filepath.Join(e.receipts, r.ID), func(path string) {
		if !spec.Forces(path) {
			goes.File(path)
		}
	})
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return forkbox.Wrap("read receipt "+r.ID, err)
	}
	return notHeld(op, goes)
}

func undoable(op string, r forkbox.Receipt) error {
	switch r.State {
	case forkbox.Applied, forkbox.Torn:
		return nil
	case forkbox.Undone:
		return forkbox.Errorf(forkbox.Invalid, op, "%s was undone already", r.ID)
	case forkbox.Expired:
		return forkbox.Errorf(forkbox.Invalid, op, "%s has expired: what it replaced is not kept any more", r.ID)
	}
	why := ""
	if r.Note != "" {
		why = " and " + r.Note
	}
	return forkbox.Errorf(forkbox.Busy, op, "%s was interrupted%s", r.ID, why).
		Hint("the next apply or undo tries to settle it, and so does the daemon when it starts: forkbox doctor")
}

// undo has the receipt landed backwards. The caller holds reality.
func (e *Engine) undo(ctx context.Context, r forkbox.Receipt, spec UndoSpec) (forkbox.Receipt, error) {
	config, err := e.landingConfig(r)
	if err != nil {
		return r, err
	}
	defer config.Root.Close()
	was := r.State
	r.State = forkbox.Landing
	if err := e.ledger.UpdateReceipt(ctx, r); err != nil {
		return r, err
	}
	if err := land.Undo(ctx, config, spec.Forces); err != nil {
		return e.notUndone(ctx, r, was, err)
	}
	r.State, r.Undone = forkbox.Undone, e.now()
	if err := e.ledger.UpdateReceipt(ctx, r); err != nil {
		return r, err
	}
	e.fresh(ctx, r)
	return r, nil
}

// notUndone has the receipt of an undo that failed say what became of it. One
// that was refused touched nothing. One that failed half-way went back to where
// it began, or could not: then it is torn, or undecided until the next apply,
// undo or start can settle it.
func (e *Engine) notUndone(ctx context.Context, r forkbox.Receipt, was forkbox.ReceiptState, cause error) (forkbox.Receipt, error) {
	if at := e.whereLanded(r); at == land.Before || at == land.After {
		r.State = was
		return r, errors.Join(cause, e.ledger.UpdateReceipt(ctx, r))
	}
	if err := e.settleReceipt(ctx, r); err != nil {
		e.log.Error("cannot settle an undo that failed", "receipt", r.ID, "error", err)
	}
	if now, err := e.ledger.Receipt(ctx, r.ID); err == nil {
		r = now
	}
	return r, cause
}
