package engine

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/review"
	"github.com/forkbox/forkbox/internal/storage/land"
)

// Receipts lists who's, newest first.
func (e *Engine) Receipts(ctx context.Context, who forkbox.Owner) ([]forkbox.Receipt, error) {
	ctx, end, err := e.begin(ctx, "list receipts")
	if err != nil {
		return nil, err
	}
	defer end()
	list, err := e.ledger.Receipts(ctx, &who.UID)
	for i := range list {
		list[i].Entries = nil // long; only a look at one receipt has it
	}
	return list, err
}

// Receipt finds one by its id, or the beginning of it.
func (e *Engine) Receipt(ctx context.Context, who forkbox.Owner, ref string) (forkbox.Receipt, error) {
	ctx, end, err := e.begin(ctx, "find receipt")
	if err != nil {
		return forkbox.Receipt{}, err
	}
	defer end()
	return e.findReceipt(ctx, who, ref)
}

func (e *Engine) findReceipt(ctx context.Context, who forkbox.Owner, ref string) (forkbox.Receipt, error) {
	const op = "find receipt"
	list, err := e.ledger.Receipts(ctx, &who.UID)
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

// holdReality waits until nobody else writes to reality.
func (e *Engine) holdReality(ctx context.Context, op string) (release func(), err error) {
	select {
	case e.reality <- struct{}{}:
		return func() { <-e.reality }, nil
	case <-ctx.Done():
		return nil, forkbox.Errorf(forkbox.Busy, op, "another apply or undo is going on, and the wait was given up: %w", ctx.Err())
	}
}

// landingConfig is how land gets at reality for a receipt.
func (e *Engine) landingConfig(r forkbox.Receipt) (land.Config, error) {
	root, err := os.Open("/")
	if err != nil {
		return land.Config{}, forkbox.Wrap("open the root directory", err)
	}
	config := land.Config{Dir: filepath.Join(e.receipts, r.ID), Root: root, Keep: true, PutBack: e.putBack(r.Box), Rewritten: e.asLanded(r.ID)}
	if r.Owner.UID != 0 && os.Geteuid() == 0 {
		owner := r.Owner
		config.Owner = &owner
	}
	return config, nil
}

// settleReceipts decides the applies and undos that a crash interrupted.
func (e *Engine) settleReceipts(ctx context.Context) {
	if e.receipts == "" {
		return
	}
	release, err := e.holdReality(ctx, "settle interrupted applies")
	if err != nil {
		return
	}
	defer release()
	e.settleInterrupted(ctx)
	e.settleUnrecorded(ctx)
	e.adopt(ctx)
	e.sweepSyncs(ctx)
	e.expire(ctx)
}

// settleInterrupted decides what the ledger says goes on. The caller holds
// reality, so nothing does: it was a crash, or a full disk that kept the ledger
// from being told how it ended.
func (e *Engine) settleInterrupted(ctx context.Context) {
	list, err := e.ledger.Receipts(ctx, nil, forkbox.Landing)
	if err != nil {
		e.log.Error("cannot list interrupted applies", "error", err)
		return
	}
	for _, r := range list {
		if err := e.settleReceipt(ctx, r); err != nil {
			e.log.Error("cannot settle an interrupted apply", "receipt", r.ID, "error", err)
		}
	}
}

// settleUnrecorded decides what was undone, in whole or in part, and of which
// the ledger does not know: it may lose its last moments when the power fails.
func (e *Engine) settleUnrecorded(ctx context.Context) {
	list, err := e.ledger.Receipts(ctx, nil, forkbox.Applied)
	if err != nil {
		e.log.Error("cannot list receipts", "error", err)
		return
	}
	for _, r := range list {
		if at := e.whereLanded(r); at == land.Before || at == land.After {
			continue
		}
		if err := e.settleReceipt(ctx, r); err != nil {
			e.log.Error("cannot settle an undo that the ledger lost", "receipt", r.ID, "error", err)
		}
	}
}

// whereLanded is what the landing's own directory says of a receipt that landed
// once; land.Before is that it says nothing, or cannot be read.
func (e *Engine) whereLanded(r forkbox.Receipt) land.State {
	at, err := land.Where(filepath.Join(e.receipts, r.ID))
	if err != nil {
		e.log.Error("cannot read where a landing stands", "receipt", r.ID, "error", err)
		return land.Before
	}
	return at
}

// unsettled begins the note of a receipt that could not be decided.
const unsettled = "cannot be settled: "

func (e *Engine) settleReceipt(ctx context.Context, r forkbox.Receipt) error {
	config, err := e.landingConfig(r)
	if err != nil {
		return err
	}
	defer config.Root.Close()
	out, err := land.Recover(ctx, config)
	if err != nil {
		r.State, r.Note = forkbox.Landing, unsettled+err.Error()
		return errors.Join(err, e.ledger.UpdateReceipt(ctx, r))
	}
	switch out.State {
	case land.Before:
		return e.forget(ctx, r)
	case land.After:
		if r.State = forkbox.Applied; strings.HasPrefix(r.Note, unsettled) {
			r.Note = ""
		}
	case land.Undone:
		r.State, r.Undone = forkbox.Undone, e.now()
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
	return e.ledger.UpdateReceipt(ctx, r)
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

// remember writes a receipt beside its journal. The ledger may lose its last
// moments when the power fails; they must not be the record of an apply.
func (e *Engine) remember(r forkbox.Receipt) error {
	if err := os.MkdirAll(e.receipts, 0o700); err != nil {
		return err
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(e.memory(r.ID), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Sync(), f.Close())
}

// landedBase is where a receipt keeps what it landed of the box's, where that
// is not all that the box has, or reality has more: the base of the next merge.
func (e *Engine) landedBase(id string) string { return filepath.Join(e.receipts, id+".base") }

func (e *Engine) memory(id string) string { return filepath.Join(e.receipts, id+".json") }

// forget removes the record of an apply that did not happen.
func (e *Engine) forget(ctx context.Context, r forkbox.Receipt) error {
	if err := e.ledger.DeleteReceipt(ctx, r.ID); err != nil {
		return err
	}
	if err := os.Remove(e.memory(r.ID)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.RemoveAll(e.landedBase(r.ID))
}

// adopt finds receipts on disk that the ledger lost.
func (e *Engine) adopt(ctx context.Context) (found []forkbox.Receipt) {
	files, _ := filepath.Glob(filepath.Join(e.receipts, "*.json"))
	for _, file := range files {
		id := strings.TrimSuffix(filepath.Base(file), ".json")
		if _, err := e.ledger.Receipt(ctx, id); !isNotFound(err) {
			continue
		}
		if err := e.adoptOne(ctx, id, file); err != nil {
			e.log.Error("cannot settle an apply that the ledger lost", "receipt", id, "error", err)
		}
		if r, err := e.ledger.Receipt(ctx, id); err == nil {
			found = append(found, r)
		}
	}
	return found
}

func (e *Engine) adoptOne(ctx context.Context, id, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var r forkbox.Receipt
	if err := json.Unmarshal(text, &r); err != nil || r.ID != id {
		if exists(filepath.Join(e.receipts, id)) {
			return forkbox.Errorf(forkbox.Internal, "read "+file, "it is damaged: %w", err) // and what it landed can still be looked at
		}
		return os.Remove(file) // cut off while it was written: nothing was done yet
	}
	r.State = forkbox.Landing
	if err := e.ledger.AddReceipt(ctx, r); err != nil {
		return err
	}
	return e.settleReceipt(ctx, r)
}
