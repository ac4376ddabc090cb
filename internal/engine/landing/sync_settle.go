package landing

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
	"github.com/forkbox/forkbox/internal/storage/land"
)

// A sync changes a box as an apply changes reality: by a landing, whose journal
// lies among the receipts. The record of the box names it before anything in the
// box is touched and until nothing of it is left in there. A sync that was
// interrupted counts as done when the box has its fence; all that it did is
// taken back otherwise, so that the next one finds what it found.
//
// What ran in the box stands still from then on until a daemon has decided that.

// syncPrefix marks the directory of a landing in a box: it is no receipt.
const syncPrefix = "sync-"

// syncName is a new one. It says whose it is, should the ledger be lost.
func syncName(box string) string { return syncPrefix + box + "-" + core.NewID() }

// syncConfig is how land gets at a box for the sync that its record names.
func (m *Manager) syncConfig(root *os.File, box forkbox.Box) land.Config {
	return land.Config{Dir: filepath.Join(m.core.Receipts, box.Syncing.Landing), Root: root, Keep: true, Remounted: true}
}

// DecideSyncIn is decideSync for a box that has just been found or started.
func (m *Manager) DecideSyncIn(ctx context.Context, instance forkbox.Instance, box *forkbox.Box) error {
	if box.Syncing == nil {
		return nil
	}
	root, err := instance.Root()
	if err != nil {
		return err
	}
	defer root.Close()
	return m.decideSync(context.WithoutCancel(ctx), root, box)
}

// decideSync ends the sync that a box's record names, and removes all that is
// left of it.
func (m *Manager) decideSync(ctx context.Context, root *os.File, box *forkbox.Box) error {
	const op = "settle an interrupted sync"
	config := m.syncConfig(root, *box)
	landed := replacedAsLanded(config.Dir)
	out, err := land.Recover(ctx, config)
	if err == nil && out.State == land.After && !box.Base.Fence.Equal(box.Syncing.Fence) {
		err = land.Undo(ctx, config, nil)
		if forkbox.CodeOf(err) == forkbox.Conflict {
			// The box went on with what it was given, in which its own is, too.
			m.core.Log.WarnContext(ctx, "an interrupted sync was not taken back: the box has changed since", "box", box.ID, "error", err)
			err = nil
		}
	}
	after := *box
	after.Syncing = nil
	switch {
	case err != nil:
		return forkbox.Wrap(op, err)
	case out.State == land.Torn:
		// The box went on running before this. What it has of either version
		// stays, in it.
		after.Note = fmt.Sprintf("a sync was interrupted, and %d of its paths were changed since; their other versions are in %s", len(out.Torn), land.StagingName(config.Dir))
		m.core.Log.WarnContext(ctx, "an interrupted sync cannot be taken back", "box", box.ID, "paths", out.Torn)
	case out.State != land.Before:
		err = land.Expire(ctx, config)
	}
	if err == nil && !box.Base.Fence.Equal(box.Syncing.Fence) {
		err = m.keepAsLanded(ctx, *box, landed)
	}
	if err == nil {
		err = m.core.Ledger.UpdateBox(ctx, after)
	}
	if err != nil {
		return forkbox.Wrap(op, err)
	}
	*box = after
	return forkbox.Wrap(op, os.RemoveAll(config.Dir))
}

// FinishSyncs decides what a crash interrupted in boxes at rest. Those that run
// were found before.
func (m *Manager) FinishSyncs(ctx context.Context, boxes []forkbox.Box) {
	for _, b := range boxes {
		if b.Syncing == nil {
			continue
		}
		box, h, unlock, err := m.core.TakeID(ctx, b.ID)
		if err == nil {
			err = m.boxes.SettleSync(ctx, h, &box)
			unlock()
		}
		if err != nil {
			m.core.Log.ErrorContext(ctx, "cannot settle an interrupted sync", "box", b.ID, "error", err)
		}
	}
}

// ForgetSync removes the journal of an interrupted sync of a box that is gone.
func (m *Manager) ForgetSync(box forkbox.Box) {
	if box.Syncing != nil {
		_ = os.RemoveAll(filepath.Join(m.core.Receipts, box.Syncing.Landing)) // or the next start does
	}
}

// sweepSyncs removes the journals of syncs that no box names: one that is named
// may go on, or is decided when its box is used.
func (m *Manager) sweepSyncs(ctx context.Context) {
	entries, _ := os.ReadDir(m.core.Receipts)
	for _, entry := range entries {
		rest, ok := strings.CutPrefix(entry.Name(), syncPrefix)
		if !ok {
			continue
		}
		id, _, _ := strings.Cut(rest, "-")
		box, err := m.core.Ledger.Box(ctx, id)
		if err != nil && (!core.IsNotFound(err) || m.core.IsKept(id)) || box.Syncing != nil && box.Syncing.Landing == entry.Name() {
			continue
		}
		_ = os.RemoveAll(filepath.Join(m.core.Receipts, entry.Name()))
	}
}
