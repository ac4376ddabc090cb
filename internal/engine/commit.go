package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/git"
	"github.com/forkbox/forkbox/internal/land"
)

// commit makes a git commit of what landed, and of nothing else. When it fails
// the apply is undone: a caller who asked for both gets both or neither.
func (a *application) commit(ctx context.Context) error {
	repo := git.Repo{Root: a.view.Root, Owner: a.receipt.Owner}
	id, _, err := repo.Commit(ctx, git.CommitSpec{
		Paths: a.paths, Message: a.spec.Message, Box: a.box.Name, Receipt: a.receipt.ID, Hooks: a.spec.Hooks,
	})
	if err == nil {
		a.receipt.Commit = id
		a.tellIdleHooks(ctx, repo)
		return a.ledger.UpdateReceipt(ctx, a.receipt)
	}
	undone, undoErr := a.takeBack(ctx)
	if undoErr != nil {
		return forkbox.Errorf(forkbox.Internal, "commit", "%w; and the apply could not be undone: %w", err, undoErr).
			Hint("undo it by hand: forkbox undo %s", a.receipt.ID)
	}
	a.receipt = undone
	var known *forkbox.Error
	if !errors.As(err, &known) {
		known = forkbox.Errorf(forkbox.Invalid, "commit", "%w", err)
	}
	return known.Hint("nothing was applied: receipt %s was undone", a.receipt.ID)
}

// tellIdleHooks says which hooks the commit did not run, and why.
func (a *application) tellIdleHooks(ctx context.Context, repo git.Repo) {
	if a.spec.Hooks {
		return
	}
	if names, err := repo.IdleHooks(ctx); err == nil && len(names) > 0 {
		a.receipt.Note = strings.Join(names, ", ") + " did not run: git's hooks can run what the box wrote; with --hooks they do run"
	}
}

// takeBack undoes the apply that is going on, in its box's turn.
func (a *application) takeBack(ctx context.Context) (r forkbox.Receipt, err error) {
	if !a.moves {
		return a.undo(ctx, a.receipt, UndoSpec{})
	}
	err = a.moving(ctx, "undo", a.h, &a.box, a.receipt.ID, func() (err error) {
		r, err = a.undo(ctx, a.receipt, UndoSpec{})
		return err
	})
	return r, err
}

// undoCommit takes the commit of an apply off its branch, now that the files
// are back, or says that it stays. Either way the undo stands.
func (e *Engine) undoCommit(ctx context.Context, r forkbox.Receipt) (forkbox.Receipt, error) {
	why, err := git.Repo{Root: r.Workdir, Owner: r.Owner}.Uncommit(ctx, r.Commit)
	if err != nil {
		why = err.Error()
	}
	r.Note = "commit " + r.Commit + " was taken off the branch, as with git reset"
	if why != "" {
		r.Note = "commit " + r.Commit + " stays (" + why + "): the files are as before it; record that with a commit of your own"
	}
	return r, e.ledger.UpdateReceipt(ctx, r)
}

// toucher is a provider that can say quickly where a box changed something.
type toucher interface {
	// Touched is the first of the paths that the box changed, "" if none.
	Touched(ctx context.Context, box forkbox.Box, paths []string) string
}

// tellSiblings marks the owner's other boxes that changed what landed: they
// were forked from a reality that is no more.
func (a *application) tellSiblings(ctx context.Context) {
	provider, ok := a.provider.(toucher)
	if !ok {
		return
	}
	boxes, err := a.ledger.Boxes(ctx, &a.box.Owner.UID)
	if err != nil {
		a.log.Warn("cannot look for stale boxes", "error", err)
		return
	}
	boxes = slices.DeleteFunc(boxes, func(b forkbox.Box) bool {
		return b.ID == a.box.ID || b.Stale != "" || b.State == forkbox.Removing
	})
	if len(boxes) == 0 {
		return
	}
	paths := a.landedPaths()
	for _, box := range boxes {
		if path := provider.Touched(ctx, box, paths); path != "" {
			why := fmt.Sprintf("box %s landed %s, which this one changed as well", a.box.Name, path)
			a.updateBox(ctx, box.ID, func(b *forkbox.Box) { b.Stale, b.StaleBy = why, a.receipt.ID })
		}
	}
}

func (a *application) landedPaths() (paths []string) {
	_ = land.Entries(a.config.Dir, func(x land.Entry) error {
		paths = append(paths, x.Path)
		return nil
	})
	return paths
}

// fresh takes the mark back that a landing left on other boxes, when the
// landing is taken back.
func (e *Engine) fresh(ctx context.Context, r forkbox.Receipt) {
	boxes, err := e.ledger.Boxes(ctx, &r.Owner.UID)
	if err != nil {
		return
	}
	for _, box := range boxes {
		if box.StaleBy == r.ID {
			e.updateBox(ctx, box.ID, func(b *forkbox.Box) { b.Stale, b.StaleBy = "", "" })
		}
	}
}

// staleLimit is how long to wait for a box that something is being done to.
const staleLimit = 2 * time.Second

// updateBox changes the record of another box, in its turn, so that nobody
// overwrites it.
func (e *Engine) updateBox(ctx context.Context, id string, change func(*forkbox.Box)) {
	ctx, cancel := context.WithTimeout(ctx, staleLimit)
	defer cancel()
	_, unlock, err := e.lock(ctx, id)
	if err != nil {
		return
	}
	defer unlock()
	box, err := e.ledger.Box(ctx, id)
	if err == nil {
		change(&box)
		err = e.ledger.UpdateBox(ctx, box)
	}
	if err != nil {
		e.log.Warn("cannot mark a box stale", "box", id, "error", err)
	}
}
