package landing

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
	"github.com/forkbox/forkbox/internal/storage/held"
	"github.com/forkbox/forkbox/internal/storage/land"
)

// UndoSpec says what an undo may overwrite.
type UndoSpec = forkbox.UndoSpec

// Undo takes an apply back: all of it, or nothing.
func (m *Manager) Undo(ctx context.Context, who forkbox.Owner, ref string, spec UndoSpec) (forkbox.Receipt, error) {
	const op = "undo"
	ctx, end, err := m.core.Begin(ctx, op)
	if err != nil {
		return forkbox.Receipt{}, err
	}
	defer end()
	release, err := m.HoldReality(ctx, op)
	if err != nil {
		return forkbox.Receipt{}, err
	}
	defer release()
	m.settleInterrupted(context.WithoutCancel(ctx))
	r, err := m.findReceipt(ctx, who, ref)
	if err == nil {
		err = undoable(op, r)
	}
	if err != nil {
		return r, err
	}
	if err := m.undoHeld(op, r, spec); err != nil {
		return r, err
	}
	ctx = context.WithoutCancel(ctx)
	open, err := m.Unsettle(ctx, r) // before: a crash must not forget it
	if err != nil {
		return r, err
	}
	if r, err = m.undoMoves(ctx, r, spec); err != nil {
		return r, errors.Join(err, m.settleAgain(ctx, r, open))
	}
	m.restAfterUndo(ctx, r.Box)
	if r.Commit == "" {
		return r, nil
	}
	return m.undoCommit(ctx, r)
}

// restAfterUndo sends the box to rest that the receipt was of, if it is still
// there and nothing is done to it.
func (m *Manager) restAfterUndo(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(ctx, staleLimit)
	defer cancel()
	h, unlock, err := m.core.Lock(ctx, id)
	if err != nil {
		return
	}
	defer unlock()
	if box, err := m.core.Ledger.Box(ctx, id); err == nil {
		m.boxes.ForgetReality(ctx, h, &box)
	}
}

// undoMoves undoes a receipt. Where it moved directories, its box is adapted.
func (m *Manager) undoMoves(ctx context.Context, r forkbox.Receipt, spec UndoSpec) (forkbox.Receipt, error) {
	moves, err := m.shelf.Moves(r.ID)
	if err != nil {
		return r, err
	}
	if len(moves) == 0 {
		return m.undo(ctx, r, spec)
	}
	h, unlock, err := m.core.Lock(ctx, r.Box)
	if err != nil {
		return r, err
	}
	defer unlock()
	box, err := m.core.Ledger.Box(ctx, r.Box)
	if core.IsNotFound(err) {
		return m.undo(ctx, r, spec)
	}
	if err != nil {
		return r, err
	}
	if !slices.Contains(box.Base.Moved, r.ID) { // it was rolled back to before the landing
		return m.undo(ctx, r, spec)
	}
	err = m.whileMoving(ctx, "undo", h, &box, r.ID, func() (err error) {
		r, err = m.undo(ctx, r, spec)
		return err
	})
	return r, err
}

// undoHeld refuses to undo what a process writes to, unless that was forced.
func (m *Manager) undoHeld(op string, r forkbox.Receipt, spec UndoSpec) error {
	goes := held.NewSearch()
	err := land.Puts(filepath.Join(m.core.Receipts, r.ID), func(path string) {
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
func (m *Manager) undo(ctx context.Context, r forkbox.Receipt, spec UndoSpec) (forkbox.Receipt, error) {
	config, err := m.LandingConfig(r)
	if err != nil {
		return r, err
	}
	defer config.Root.Close()
	was := r.State
	r.State = forkbox.Landing
	if err := m.core.Ledger.UpdateReceipt(ctx, r); err != nil {
		return r, err
	}
	if err := land.Undo(ctx, config, spec.Forces); err != nil {
		return m.notUndone(ctx, r, was, err)
	}
	r.State, r.Undone = forkbox.Undone, m.core.Now()
	if err := m.core.Ledger.UpdateReceipt(ctx, r, m.about(r, forkbox.EventReceiptUndone, "it was taken back")); err != nil {
		return r, err
	}
	m.unmarkStale(ctx, r)
	return r, nil
}

// notUndone has the receipt of an undo that failed say what became of it. One
// that was refused touched nothing. One that failed half-way went back to where
// it began, or could not: then it is torn, or undecided until the next apply,
// undo or start can settle it.
func (m *Manager) notUndone(ctx context.Context, r forkbox.Receipt, was forkbox.ReceiptState, cause error) (forkbox.Receipt, error) {
	if at := m.whereLanded(r); at == land.Before || at == land.After {
		r.State = was
		return r, errors.Join(cause, m.core.Ledger.UpdateReceipt(ctx, r, m.failed(r, "it could not be undone: "+cause.Error())))
	}
	if err := m.settleReceipt(ctx, r); err != nil {
		m.core.Log.ErrorContext(ctx, "cannot settle an undo that failed", "receipt", r.ID, "box", r.Box, "error", err)
	}
	if now, err := m.core.Ledger.Receipt(ctx, r.ID); err == nil {
		r = now
	}
	return r, cause
}
