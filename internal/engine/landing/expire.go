package landing

import (
	"context"
	"os"
	"path/filepath"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
	"github.com/forkbox/forkbox/internal/storage/land"
)

// expire lets go of what old applies replaced: those that are too old, and the
// oldest while there is too much. The caller holds reality.
func (m *Manager) expire(ctx context.Context) {
	list, err := m.core.Ledger.Receipts(ctx, nil, forkbox.Applied, forkbox.Undone)
	if err != nil {
		m.core.Log.ErrorContext(ctx, "cannot list receipts", "error", err)
		return
	}
	undo := m.undoLimits.now.Load()
	var kept int64
	newest := map[int]bool{} // of each owner: it stays, however old
	for _, r := range list { // newest first
		kept += r.Bytes
		first := !newest[r.Owner.UID]
		newest[r.Owner.UID] = true
		if first || m.core.Now().Sub(r.Created) < undo.UndoAge && kept <= undo.UndoSize {
			continue
		}
		kept -= r.Bytes
		if err := m.expireOne(ctx, r); err != nil {
			m.core.Log.ErrorContext(ctx, "cannot let a receipt expire", "receipt", r.ID, "box", r.Box, "error", err)
		}
	}
	m.memories.purge(ctx)
}

// purge removes the journals of expired receipts that no box needs any more to
// tell its own doing from reality's. That there was an apply stays recorded.
func (p *memories) purge(ctx context.Context) {
	list, err := p.core.Ledger.Receipts(ctx, nil, forkbox.Expired)
	if err != nil {
		return
	}
	for _, r := range list {
		if _, err := p.core.Ledger.Box(ctx, r.Box); !core.IsNotFound(err) || p.core.IsKept(r.Box) {
			continue // it has a box, if only one that the ledger lost
		}
		for _, path := range []string{filepath.Join(p.core.Receipts, r.ID), p.changes.LandedBase(r.ID), p.file(r.ID)} {
			if err := os.RemoveAll(path); err != nil {
				p.core.Log.WarnContext(ctx, "cannot remove what is left of a receipt", "receipt", r.ID, "box", r.Box, "error", err)
			}
		}
	}
}

func (m *Manager) expireOne(ctx context.Context, r forkbox.Receipt) error {
	config, err := m.LandingConfig(r)
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
	return m.core.Ledger.UpdateReceipt(ctx, r, m.about(r, forkbox.EventReceiptExpired, "it cannot be undone any more"))
}
