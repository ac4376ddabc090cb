package engine

import (
	"context"
	"os"
	"path/filepath"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/storage/land"
)

// expire lets go of what old applies replaced: those that are too old, and the
// oldest while there is too much. The caller holds reality.
func (e *Engine) expire(ctx context.Context) {
	list, err := e.ledger.Receipts(ctx, nil, forkbox.Applied, forkbox.Undone)
	if err != nil {
		e.log.Error("cannot list receipts", "error", err)
		return
	}
	var kept int64
	newest := map[int]bool{} // of each owner: it stays, however old
	for _, r := range list { // newest first
		kept += r.Bytes
		first := !newest[r.Owner.UID]
		newest[r.Owner.UID] = true
		if first || e.now().Sub(r.Created) < e.undoAge && kept <= e.undoSize {
			continue
		}
		kept -= r.Bytes
		if err := e.expireOne(ctx, r); err != nil {
			e.log.Error("cannot let a receipt expire", "receipt", r.ID, "error", err)
		}
	}
	e.purge(ctx)
}

// purge removes the journals of expired receipts that no box needs any more to
// tell its own doing from reality's. That there was an apply stays recorded.
func (e *Engine) purge(ctx context.Context) {
	list, err := e.ledger.Receipts(ctx, nil, forkbox.Expired)
	if err != nil {
		return
	}
	for _, r := range list {
		if _, err := e.ledger.Box(ctx, r.Box); !isNotFound(err) || e.isKept(r.Box) {
			continue // it has a box, if only one that the ledger lost
		}
		for _, path := range []string{filepath.Join(e.receipts, r.ID), e.landedBase(r.ID), e.memory(r.ID)} {
			if err := os.RemoveAll(path); err != nil {
				e.log.Warn("cannot remove what is left of a receipt", "receipt", r.ID, "error", err)
			}
		}
	}
}

func (e *Engine) expireOne(ctx context.Context, r forkbox.Receipt) error {
	config, err := e.landingConfig(r)
	if err != nil {
		return err
	}
	undone := r.State == forkbox.Undone
	defer config.Root.Close()
	if err := land.Expire(ctx, config); err != nil {
		return err
	}
	r.State, r.Bytes = forkbox.Expired, 0
	if undone {
		r.Note = "was undone"
	}
	return e.ledger.UpdateReceipt(ctx, r)
}
