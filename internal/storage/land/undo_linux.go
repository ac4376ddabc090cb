package land

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/storage/land/files"
)

// Undo takes a landing back, all of it or nothing: the old objects return to
// their paths, what was landed is kept in their slots. It refuses, naming all
// the paths, where the tree has changed since, unless force says that a path
// may go nevertheless; then what is there now is kept as well. force may be
// nil.
func Undo(ctx context.Context, cfg Config, force func(path string) bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if force == nil {
		force = func(string) bool { return false }
	}
	s, err := openSite(cfg)
	if errors.Is(err, os.ErrNotExist) {
		return forkbox.Errorf(forkbox.NotFound, opUndo, "there is no landing in %s", cfg.Dir)
	}
	if err != nil {
		return wrap(opUndo, err)
	}
	defer s.close()
	if err := s.undoable(); err != nil {
		return err
	}
	if err := s.yard.openPlaces(); err != nil {
		return wrap(opUndo, err)
	}
	return wrap(opUndo, s.undo(ctx, force))
}

func (s *site) undoable() error {
	m, err := readMarker(s.cfg.Dir)
	switch {
	case err != nil:
		return wrap(opUndo, err)
	case m.Expired:
		return forkbox.Errorf(forkbox.Conflict, opUndo, "what was there before is no longer kept")
	case m.Stage == undone:
		return forkbox.Errorf(forkbox.Conflict, opUndo, "it was undone before")
	case m.Stage == torn:
		return forkbox.Errorf(forkbox.Conflict, opUndo, "it was interrupted, and the tree changed before it could be decided")
	case m.Stage != done:
		return forkbox.Errorf(forkbox.Busy, opUndo, "it goes on, or was interrupted and is not yet recovered")
	}
	return nil
}

// undo takes one landing back.
type undo struct {
	crew
	site  *site
	lefts *journal               // what the landing left
	force func(path string) bool // what may go nevertheless
}

func (s *site) undo(ctx context.Context, force func(string) bool) error {
	lefts, err := openJournal(s.dir, leftFile)
	if err != nil {
		return err
	}
	defer lefts.close()
	u := &undo{crew: s.crew, site: s, lefts: lefts, force: force}
	return u.run(ctx)
}

func (u *undo) run(ctx context.Context) error {
	err := u.yard.bring()
	if err == nil {
		err = u.who.Do(func() error { return u.mayUndo() })
	}
	if err != nil {
		return besides(err, u.yard.stow())
	}
	if err := mark(u.site.dir, marker{Stage: undoing}); err != nil {
		return u.goBack(err)
	}
	d := &driver{crew: u.crew, to: false, force: u.force}
	err = u.who.Do(func() error { return u.plan.back(cancellable(ctx, d.visitor()), u.lefts) })
	if err == nil {
		err = u.mayHaveUndone()
	}
	if err == nil {
		err = u.site.conclude(undone, undoneFile, following(u.lefts, u.witness.undoneLeft))
	}
	if err != nil {
		return u.goBack(err)
	}
	_ = u.site.settleUndone() // tidying; Recover does it too
	return nil
}

// goBack goes back to where the undo began.
func (u *undo) goBack(cause error) error {
	torn, err := []forkbox.Caution(nil), u.site.notConcluded(undone, undoing)
	if err == nil {
		torn, err = u.site.reland()
	}
	if err != nil {
		return errors.Join(cause, forkbox.Errorf(forkbox.Internal, opUndo, "go back: %w", err).Hint("it is tried again at the next apply or undo, and when the daemon starts"))
	}
	if len(torn) > 0 {
		return tornError(opUndo, cause, torn)
	}
	return cause
}

// mayUndo looks at everything first, so that all that stands in the way is
// named at once.
func (u *undo) mayUndo() error {
	refusal := forkbox.Errorf(forkbox.Conflict, opUndo, "the tree has changed since")
	in := &inspection{crew: u.crew}
	returns, err := u.freeingMoves()
	if err != nil {
		return err
	}
	in.report = func(_ *record, p, why string) {
		if !u.force(p) {
			refusal.About(p, why)
		}
	}
	in.judge = func(r *record, l *left) (string, error) {
		if why := u.cannotReturn(r, returns[r.N]); why != "" {
			refusal.About(r.Path, why) // force or not
			return "", nil
		}
		return u.stands(r, l, returns[r.N])
	}
	if err := in.run(u.lefts); err != nil {
		return err
	}
	if len(refusal.Items) == 0 {
		return nil
	}
	return refusal.Hint("name the paths that may be overwritten; what is there now is kept")
}

// mayHaveUndone looks again, now that what was landed is out of reach: it has
// to be what mayUndo saw.
func (u *undo) mayHaveUndone() error {
	refusal := forkbox.Errorf(forkbox.Conflict, opUndo, "the tree changed at the very moment")
	in := &inspection{crew: u.crew, slots: true}
	in.report = func(_ *record, p, why string) {
		if !u.force(p) {
			refusal.About(p, why)
		}
	}
	in.judge = func(r *record, was *left) (string, error) {
		switch {
		case !r.flips() && !r.Inside:
			return "", nil
		case r.New == nil: // it had removed something, and something is there again
			was = &left{}
		}
		return u.witness.changedIn(&u.yard.of(r).tree, "/"+r.Slot, r, was)
	}
	if err := u.who.Do(func() error { return in.run(u.lefts) }); err != nil || len(refusal.Items) == 0 {
		return err
	}
	return refusal
}

// freeingMoves finds the moves from where this landing did something else as
// well: whether there is room now says nothing about later.
func (u *undo) freeingMoves() (map[int]bool, error) {
	found := map[int]bool{}
	moves, err := u.plan.moves()
	if err != nil || len(moves) == 0 {
		return found, err
	}
	err = u.plan.each(func(r *record) error {
		for _, m := range moves {
			other := m.N != r.N && r.Op == Move && forkbox.Within(m.From, r.From)
			if other || forkbox.Within(m.From, r.Path) && r.Op != Attr {
				found[m.N] = true
			}
		}
		return nil
	})
	return found, err
}

// stands says what is in the way of taking a record back.
func (u *undo) stands(r *record, l *left, freeing bool) (string, error) {
	switch r.Op {
	case Move:
		if freeing {
			return "", nil
		}
		if from, err := u.tree.Look(r.From); err != nil || from != nil {
			return fmt.Sprintf("something is at %q again", r.From), err
		}
		return "", nil
	case Attr:
		return u.attrsChanged(r, l)
	}
	return u.witness.changedSince(r, l)
}

func (u *undo) attrsChanged(r *record, l *left) (string, error) {
	h, err := u.hand.openAt(r.Path)
	if err != nil {
		return "it was deleted since", nil
	}
	defer unix.Close(h.Fd)
	now, err := files.Fstat(h.Fd)
	if err != nil {
		return "", err
	}
	now.Xattrs = h.Xattrs()
	d := &driver{crew: u.crew, force: func(string) bool { return false }}
	return d.mayChange(r, l, h, now), nil
}

// cannotReturn says why a record cannot be taken back even by force.
func (u *undo) cannotReturn(r *record, freeing bool) string {
	switch {
	case r.Inside:
		return ""
	case r.Op != Attr && u.yard.lacks(r):
		return "what was there before is gone: " + u.yard.path(u.yard.of(r))
	case r.Op == Attr:
		if now, err := u.tree.Look(r.Path); err != nil || now == nil {
			return "it was deleted since"
		}
		return ""
	case r.Op == Move && !freeing && u.isGone(path.Dir(r.From)):
		return "the directory that it was in is gone"
	case r.Op == Move && !r.Entrywise:
		if now, err := u.tree.Look(r.Path); err != nil || !now.Is(r.Old) {
			return "what was moved there is gone"
		}
	case r.Old != nil && u.isGone(path.Dir(r.Path)):
		return "the directory that it was in is gone"
	}
	return ""
}

func (u *undo) isGone(dir string) bool {
	_, err := u.tree.Dir(dir)
	return err != nil
}
