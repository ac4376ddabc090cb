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
	"github.com/forkbox/forkbox/internal/held"
	"github.com/forkbox/forkbox/internal/land"
	"github.com/forkbox/forkbox/internal/review"
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

// UndoSpec says what an undo may overwrite: paths that changed since the apply
// and are to be restored all the same.
type UndoSpec struct {
	Force    []string
	ForceAll bool
}

func (s UndoSpec) forces(path string) bool {
	if s.ForceAll {
		return true
	}
	for _, p := range s.Force {
		if forkbox.Within(path, p) {
			return true
		}
	}
	return false
}

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
	if r, err = e.undoMoves(ctx, r, spec); err != nil || r.Commit == "" {
		return r, err
	}
	return e.undoCommit(ctx, r)
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
	err := land.Entries(filepath.Join(e.receipts, r.ID), func(x land.Entry) error {
		if x.Now != nil && x.Op == land.Put && !spec.forces(x.Path) {
			goes.File(x.Path)
		}
		return nil
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
	return forkbox.Errorf(forkbox.Busy, op, "%s was interrupted", r.ID).
		Hint("the daemon settles it when it starts: forkbox doctor")
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
	if err := land.Undo(ctx, config, spec.forces); err != nil {
		r.State = was
		return r, errors.Join(err, e.ledger.UpdateReceipt(ctx, r))
	}
	r.State, r.Undone = forkbox.Undone, e.now()
	if err := e.ledger.UpdateReceipt(ctx, r); err != nil {
		return r, err
	}
	e.fresh(ctx, r)
	return r, nil
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
	config := land.Config{Dir: filepath.Join(e.receipts, r.ID), Root: root, Keep: true, PutBack: e.putBack(r.Box)}
	if r.Owner.UID != 0 && os.Geteuid() == 0 {
		owner := r.Owner
		config.Owner = &owner
	}
	return config, nil
}

// marks are what earlier applies of a box left in reality, so that they do not
// count as drift, nor what landed as a change.
func (e *Engine) marks(ctx context.Context, box forkbox.Box) (map[string]review.Mark, review.Inodes, error) {
	list, err := e.receiptsOf(ctx, box)
	if err != nil {
		return nil, nil, err
	}
	marks, left := map[string]review.Mark{}, review.Inodes{}
	e.readPutBack(box.ID, left)
	for _, r := range list { // oldest first
		if r.State == forkbox.Landing || r.State == forkbox.Torn {
			continue
		}
		if err := e.mark(r, box, marks, left); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, nil, forkbox.Wrap("read receipt "+r.ID, err)
		}
	}
	return marks, left, e.othersUndone(ctx, box, left)
}

// othersUndone adds what applies of other boxes left in reality that were taken
// back since: the same files, with another time on their inodes. Where those had
// not changed after this box's fence before, they have not now.
func (e *Engine) othersUndone(ctx context.Context, box forkbox.Box, left review.Inodes) error {
	list, err := e.ledger.Receipts(ctx, nil, forkbox.Undone)
	if err != nil {
		return err
	}
	for _, r := range slices.Backward(list) { // oldest first
		if r.Box == box.ID || r.Undone.Before(box.Base.Fence) {
			continue
		}
		err := land.Entries(filepath.Join(e.receipts, r.ID), func(x land.Entry) error {
			if x.Old != nil && x.Now != nil && (x.Old.Ctime < box.Base.Fence.UnixNano() || left.Has(*x.Old)) {
				left.Add(*x.Now)
			}
			return nil
		})
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return forkbox.Wrap("read receipt "+r.ID, err)
		}
	}
	return nil
}

// receiptsOf are those of a box and, until it was forked from them, of its
// ancestors, oldest first.
func (e *Engine) receiptsOf(ctx context.Context, box forkbox.Box) (all []forkbox.Receipt, err error) {
	for _, a := range box.Lineage {
		list, err := e.ledger.ReceiptsOf(ctx, a.Box)
		if err != nil {
			return nil, err
		}
		all = append(all, slices.DeleteFunc(list, func(r forkbox.Receipt) bool { return r.Created.After(a.Until) })...)
	}
	own, err := e.ledger.ReceiptsOf(ctx, box.ID)
	return append(all, own...), err
}

func (e *Engine) mark(r forkbox.Receipt, box forkbox.Box, marks map[string]review.Mark, left review.Inodes) error {
	return land.Entries(filepath.Join(e.receipts, r.ID), func(x land.Entry) error {
		var tag review.Tag
		if len(x.Tag) > 0 {
			if err := json.Unmarshal(x.Tag, &tag); err != nil {
				return err
			}
		}
		m := marks[x.Path]
		switch {
		case !r.Undone.IsZero() && tag.Drifted:
			return nil // as it was: changed by reality
		case r.Undone.IsZero():
			m = review.Mark{Box: tag.Box, Whole: !tag.Partial, Deleted: tag.Kind == forkbox.Deleted, Added: tag.Kind == forkbox.Added || m.Added && tag.Kind == forkbox.Mode,
				Landed: r.Created.After(box.Base.Fence), Receipt: r.ID}
		}
		m.Nothing = !r.Undone.IsZero() && tag.Kind == forkbox.Added && x.Now == nil
		m.Reality = forkbox.Identity{}
		if x.Now != nil {
			m.Reality = *x.Now
			left.Add(*x.Now)
		}
		if x.Op == land.Move && x.Old != nil {
			left.Add(*x.Old) // the directory that is moved, wherever it is now
		}
		if x.Kept != nil && !tag.Drifted {
			left.Add(*x.Kept) // it may have other names
		}
		marks[x.Path] = m
		return nil
	})
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
	e.adopt(ctx)
	e.sweepSyncs()
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

func (e *Engine) settleReceipt(ctx context.Context, r forkbox.Receipt) error {
	config, err := e.landingConfig(r)
	if err != nil {
		return err
	}
	defer config.Root.Close()
	out, err := land.Recover(ctx, config)
	if err != nil {
		r.Note = "cannot be settled: " + err.Error()
		return errors.Join(err, e.ledger.UpdateReceipt(ctx, r))
	}
	switch out.State {
	case land.Before:
		return e.forget(ctx, r)
	case land.After:
		r.State, r.Note = forkbox.Applied, ""
	case land.Undone:
		r.State, r.Undone = forkbox.Undone, e.now()
		if r.Commit != "" {
			r.Note = "commit " + r.Commit + " stays: the undo was interrupted"
		}
	case land.Torn:
		r.State = forkbox.Torn
		r.Note = "it was interrupted, and reality has changed since"
		r.Cautions = append(r.Cautions, out.Torn...)
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

// landedBase is where a receipt keeps what it landed, where that is neither
// the box's version nor what reality had: the base of the next merge.
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
