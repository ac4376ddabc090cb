package landing

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/git"
	"github.com/forkbox/forkbox/internal/storage/land"
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
		return a.core.Ledger.UpdateReceipt(ctx, a.receipt)
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
	err = a.whileMoving(ctx, "undo", a.h, &a.box, a.receipt.ID, func() (err error) {
		r, err = a.undo(ctx, a.receipt, UndoSpec{})
		return err
	})
	return r, err
}

// undoCommit takes the commit of an apply off its branch, now that the files
// are back, or says that it stays. Either way the undo stands.
func (m *Manager) undoCommit(ctx context.Context, r forkbox.Receipt) (forkbox.Receipt, error) {
	why, err := git.Repo{Root: r.Workdir, Owner: r.Owner}.Uncommit(ctx, r.Commit)
	if err != nil {
		why = err.Error()
	}
	r.Note = "commit " + r.Commit + " was taken off the branch, as with git reset"
	if why != "" {
		r.Note = "commit " + r.Commit + " stays (" + why + "): the files are as before it; record that with a commit of your own"
	}
	return r, m.core.Ledger.UpdateReceipt(ctx, r)
}

// toucher is a provider that can say quickly where a box changed something.
type toucher interface {
	// Touches says of paths whether a box changed something there.
	Touches(box forkbox.Box) func(path string) bool
}

// tellSiblings marks the owner's other boxes that changed what landed: they
// were forked from a reality that is no more.
func (a *application) tellSiblings(ctx context.Context) {
	provider, ok := a.core.Provider.(toucher)
	if !ok {
		return
	}
	boxes, err := a.core.Ledger.Boxes(ctx, &a.box.Owner.UID)
	if err != nil {
		a.core.Log.WarnContext(ctx, "cannot look for stale boxes", "error", err)
		return
	}
	siblings := map[string]func(string) bool{} // by id: those that changed nothing of it so far
	for _, b := range boxes {
		if b.ID != a.box.ID && b.Stale == nil && b.State != forkbox.Removing {
			siblings[b.ID] = provider.Touches(b)
		}
	}
	// The journal has the paths, of which there may be millions.
	_ = land.Entries(a.config.Dir, func(x land.Entry) error {
		if len(siblings) == 0 {
			return errEnough
		}
		for id, touches := range siblings {
			if touches(x.Path) {
				delete(siblings, id)
				stale := &forkbox.Staleness{Receipt: a.receipt.ID, Box: a.box.Name, Path: x.Path}
				a.updateBox(ctx, id, func(b *forkbox.Box) []forkbox.Event {
					b.Stale = stale
					told := a.core.About(*b, forkbox.EventBoxStale, a.box.Name+" landed "+x.Path)
					told.Receipt = a.receipt.ID
					return []forkbox.Event{told}
				})
			}
		}
		return ctx.Err()
	})
}

// errEnough ends a reading early.
var errEnough = errors.New("enough")

// unmarkStale takes the mark back that a landing left on other boxes, when the
// landing is taken back.
func (m *Manager) unmarkStale(ctx context.Context, r forkbox.Receipt) {
	boxes, err := m.core.Ledger.Boxes(ctx, &r.Owner.UID)
	if err != nil {
		return
	}
	for _, box := range boxes {
		if box.Stale != nil && box.Stale.Receipt == r.ID {
			m.updateBox(ctx, box.ID, func(b *forkbox.Box) []forkbox.Event { b.Stale = nil; return nil })
		}
	}
}

// staleLimit is how long to wait for a box that something is being done to.
const staleLimit = 2 * time.Second

// updateBox changes the record of another box under that box's lock, so that no
// other request overwrites it.
func (m *Manager) updateBox(ctx context.Context, id string, change func(*forkbox.Box) []forkbox.Event) {
	ctx, cancel := context.WithTimeout(ctx, staleLimit)
	defer cancel()
	_, unlock, err := m.core.Lock(ctx, id)
	if err != nil {
		return
	}
	defer unlock()
	box, err := m.core.Ledger.Box(ctx, id)
	if err == nil {
		told := change(&box)
		err = m.core.Ledger.UpdateBox(ctx, box, told...)
	}
	if err != nil {
		m.core.Log.WarnContext(ctx, "cannot mark a box stale", "box", id, "error", err)
	}
}
