package landing

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/bases"
	"github.com/forkbox/forkbox/internal/engine/changes"
	"github.com/forkbox/forkbox/internal/engine/core"
	"github.com/forkbox/forkbox/internal/review"
	"github.com/forkbox/forkbox/internal/storage/land"
)

// Receipts lists who's, newest first.
func (m *Manager) Receipts(ctx context.Context, who forkbox.Owner) ([]forkbox.Receipt, error) {
	ctx, end, err := m.core.Begin(ctx, "list receipts")
	if err != nil {
		return nil, err
	}
	defer end()
	list, err := m.core.Ledger.Receipts(ctx, &who.UID)
	for i := range list {
		list[i].Entries = nil // long; only a look at one receipt has it
	}
	return list, err
}

// Receipt finds one by its id, or the beginning of it.
func (m *Manager) Receipt(ctx context.Context, who forkbox.Owner, ref string) (forkbox.Receipt, error) {
	ctx, end, err := m.core.Begin(ctx, "find receipt")
	if err != nil {
		return forkbox.Receipt{}, err
	}
	defer end()
	return m.findReceipt(ctx, who, ref)
}

func (m *Manager) findReceipt(ctx context.Context, who forkbox.Owner, ref string) (forkbox.Receipt, error) {
	const op = "find receipt"
	list, err := m.core.Ledger.Receipts(ctx, &who.UID)
	if err != nil {
		return forkbox.Receipt{}, err
	}
	var found []forkbox.Receipt
	for _, r := range list {
		switch {
		case r.ID == ref:
			return r, nil
		case ref != "" && strings.HasPrefix(r.ID, ref):
			found = append(found, r)
		}
	}
	switch {
	case len(found) == 0:
		return forkbox.Receipt{}, forkbox.Errorf(forkbox.NotFound, op, "you have no receipt %q", ref).
			Hint("forkbox receipts lists them")
	case len(found) > 1:
		return forkbox.Receipt{}, forkbox.Errorf(forkbox.Ambiguous, op, "%q could be %s or %s", ref, found[0].ID, found[1].ID).
			Hint("give more of the id")
	}
	return found[0], nil
}

// HoldReality waits until no other operation of the daemon writes to reality.
func (m *Manager) HoldReality(ctx context.Context, op string) (release func(), err error) {
	select {
	case m.reality <- struct{}{}:
		return func() { <-m.reality }, nil
	case <-ctx.Done():
		return nil, forkbox.Errorf(forkbox.Busy, op, "another apply or undo is going on, and the wait was given up: %w", ctx.Err())
	}
}

// LandingConfig is how land gets at reality for a receipt.
func (m *Manager) LandingConfig(r forkbox.Receipt) (land.Config, error) {
	root, err := os.Open("/")
	if err != nil {
		return land.Config{}, forkbox.Wrap("open the root directory", err)
	}
	config := land.Config{Dir: filepath.Join(m.core.Receipts, r.ID), Root: root, Keep: true, PutBack: m.changes.RememberPutBack(r.Box), Rewritten: m.asLanded(r.ID)}
	if r.Owner.UID != 0 && os.Geteuid() == 0 {
		owner := r.Owner
		config.Owner = &owner
	}
	return config, nil
}

// SettleReceipts decides the applies and undos that a crash interrupted.
func (m *Manager) SettleReceipts(ctx context.Context) {
	if m.core.Receipts == "" {
		return
	}
	release, err := m.HoldReality(ctx, "settle interrupted applies")
	if err != nil {
		return
	}
	defer release()
	m.settleInterrupted(ctx)
	m.settleUnrecorded(ctx)
	m.Adopt(ctx)
	m.sweepSyncs(ctx)
	m.expire(ctx)
}

// settleInterrupted decides what the ledger says goes on. The caller holds
// reality, so nothing does: it was a crash, or a full disk that kept the ledger
// from being told how it ended.
func (m *Manager) settleInterrupted(ctx context.Context) {
	list, err := m.core.Ledger.Receipts(ctx, nil, forkbox.Landing)
	if err != nil {
		m.core.Log.ErrorContext(ctx, "cannot list interrupted applies", "error", err)
		return
	}
	for _, r := range list {
		if err := m.settleReceipt(ctx, r); err != nil {
			m.core.Log.ErrorContext(ctx, "cannot settle an interrupted apply", "receipt", r.ID, "box", r.Box, "error", err)
		}
	}
}

// settleUnrecorded decides what was undone, in whole or in part, and of which
// the ledger does not know: it may lose its last moments when the power fails.
func (m *Manager) settleUnrecorded(ctx context.Context) {
	list, err := m.core.Ledger.Receipts(ctx, nil, forkbox.Applied)
	if err != nil {
		m.core.Log.ErrorContext(ctx, "cannot list receipts", "error", err)
		return
	}
	for _, r := range list {
		if at := m.whereLanded(r); at == land.Before || at == land.After {
			continue
		}
		if err := m.settleReceipt(ctx, r); err != nil {
			m.core.Log.ErrorContext(ctx, "cannot settle an undo that the ledger lost", "receipt", r.ID, "box", r.Box, "error", err)
		}
	}
}

// whereLanded is what the landing's own directory says of a receipt that landed
// once; land.Before is that it says nothing, or cannot be read.
func (m *Manager) whereLanded(r forkbox.Receipt) land.State {
	at, err := land.Where(filepath.Join(m.core.Receipts, r.ID))
	if err != nil {
		m.core.Log.Error("cannot read where a landing stands", "receipt", r.ID, "box", r.Box, "error", err)
		return land.Before
	}
	return at
}

// unsettled begins the note of a receipt that could not be decided.
const unsettled = "cannot be settled: "

func (m *Manager) settleReceipt(ctx context.Context, r forkbox.Receipt) error {
	config, err := m.LandingConfig(r)
	if err != nil {
		return err
	}
	defer config.Root.Close()
	out, err := land.Recover(ctx, config)
	if err != nil {
		var told []forkbox.Event
		if note := unsettled + err.Error(); r.Note != note { // once, however often it is tried
			r.Note, told = note, append(told, m.failed(r, note))
		}
		r.State = forkbox.Landing
		return errors.Join(err, m.core.Ledger.UpdateReceipt(ctx, r, told...))
	}
	switch out.State {
	case land.Before:
		return m.memories.forget(ctx, r, m.failed(r, "it was interrupted, and nothing landed"))
	case land.After:
		if r.State = forkbox.Applied; strings.HasPrefix(r.Note, unsettled) {
			r.Note = ""
		}
	case land.Undone:
		r.State, r.Undone = forkbox.Undone, m.core.Now()
		if r.Commit != "" {
			r.Note = "commit " + r.Commit + " stays: the undo was interrupted"
		}
	case land.Torn:
		r.State = forkbox.Torn
		r.Note = "it was interrupted, and reality has changed since"
		r.Cautions = append(slices.DeleteFunc(r.Cautions, func(c forkbox.Caution) bool { return slices.Contains(out.Torn, c) }), out.Torn...)
	}
	r.Bytes, _ = land.Kept(config.Dir)
	if r.Paths == 0 {
		if err := recount(config.Dir, &r); err != nil {
			return err
		}
	}
	return m.core.Ledger.UpdateReceipt(ctx, r, m.settled(r))
}

// recount finds out what an apply landed that was interrupted before it was
// written down.
func recount(dir string, r *forkbox.Receipt) error {
	last := ""
	return land.Entries(dir, func(x land.Entry) error {
		if x.Path == last {
			return nil // moved, and given other attributes
		}
		last = x.Path
		var tag review.Tag
		if err := json.Unmarshal(x.Tag, &tag); err != nil {
			return err
		}
		r.Paths++
		if tag.Merged {
			r.Merged++
		}
		if len(r.Entries) < shownEntries {
			r.Entries = append(r.Entries, forkbox.Landed{Path: x.Path, Kind: tag.Kind, Merged: tag.Merged, Partial: tag.Partial})
		}
		return nil
	})
}

// memories are what is kept of receipts beside the ledger, should that be lost.
type memories struct {
	core    *core.Core
	changes *changes.Manager
}

// remember writes a receipt beside its journal. The ledger may lose its last
// moments when the power fails; they must not be the record of an apply.
func (p *memories) remember(r forkbox.Receipt) error {
	if err := os.MkdirAll(p.core.Receipts, 0o700); err != nil {
		return err
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(p.file(r.ID), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Sync(), f.Close())
}

func (p *memories) file(id string) string { return filepath.Join(p.core.Receipts, id+".json") }

// forget removes the record of an apply that did not happen.
func (p *memories) forget(ctx context.Context, r forkbox.Receipt, tell ...forkbox.Event) error {
	if err := p.core.Ledger.DeleteReceipt(ctx, r.ID, tell...); err != nil {
		return err
	}
	if err := os.Remove(p.file(r.ID)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.RemoveAll(p.changes.LandedBase(r.ID))
}

// Adopt finds receipts on disk that the ledger lost.
func (m *Manager) Adopt(ctx context.Context) (found []forkbox.Receipt) {
	files, _ := filepath.Glob(filepath.Join(m.core.Receipts, "*.json"))
	for _, file := range files {
		id := strings.TrimSuffix(filepath.Base(file), ".json")
		if _, err := m.core.Ledger.Receipt(ctx, id); !core.IsNotFound(err) {
			continue
		}
		if err := m.adoptOne(ctx, id, file); err != nil {
			m.core.Log.ErrorContext(ctx, "cannot settle an apply that the ledger lost", "receipt", id, "error", err)
		}
		if r, err := m.core.Ledger.Receipt(ctx, id); err == nil {
			found = append(found, r)
		}
	}
	return found
}

func (m *Manager) adoptOne(ctx context.Context, id, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var r forkbox.Receipt
	if err := json.Unmarshal(text, &r); err != nil || r.ID != id {
		if bases.Exists(filepath.Join(m.core.Receipts, id)) {
			return forkbox.Errorf(forkbox.Internal, "read "+file, "it is damaged: %w", err) // and what it landed can still be looked at
		}
		return os.Remove(file) // cut off while it was written: nothing was done yet
	}
	r.State = forkbox.Landing
	if err := m.core.Ledger.AddReceipt(ctx, r); err != nil {
		return err
	}
	return m.settleReceipt(ctx, r)
}
