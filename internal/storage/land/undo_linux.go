package land

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
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
	if err := s.openPlaces(); err != nil {
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

func (s *site) undo(ctx context.Context, force func(string) bool) error {
	lefts, err := openJournal(s.dir, leftFile)
	if err != nil {
		return err
	}
	defer lefts.close()
	err = s.bring()
	if err == nil {
		err = s.who.do(func() error { return s.mayUndo(lefts, force) })
	}
	if err != nil {
		return besides(err, s.stow())
	}
	if err := mark(s.dir, marker{Stage: undoing}); err != nil {
		return s.undoFailed(err)
	}
	d := &driver{site: s, to: false, force: force}
	err = s.who.do(func() error { return s.back(s.cancellable(ctx, d.visitor()), lefts) })
	if err == nil {
		err = s.mayHaveUndone(lefts, force)
	}
	if err == nil {
		err = s.conclude(undone, undoneFile, following(lefts, s.undoneLeft))
	}
	if err != nil {
		return s.undoFailed(err)
	}
	_ = s.settleUndone() // tidying; Recover does it too
	return nil
}

// undoFailed goes back to where the undo began.
func (s *site) undoFailed(cause error) error {
	torn, err := []forkbox.Caution(nil), s.notConcluded(undone, undoing)
	if err == nil {
		torn, err = s.reland()
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
func (s *site) mayUndo(lefts *journal, force func(string) bool) error {
	refusal := forkbox.Errorf(forkbox.Conflict, opUndo, "the tree has changed since")
	in := &inspection{site: s}
	returns, err := s.freeingMoves()
	if err != nil {
		return err
	}
	in.report = func(_ *record, p, why string) {
		if !force(p) {
			refusal.About(p, why)
		}
	}
	in.judge = func(r *record, l *left) (string, error) {
		if why := s.cannotReturn(r, returns[r.N]); why != "" {
			refusal.About(r.Path, why) // force or not
			return "", nil
		}
		return s.stands(r, l, returns[r.N])
	}
	if err := in.run(lefts); err != nil {
		return err
	}
	if len(refusal.Items) == 0 {
		return nil
	}
	return refusal.Hint("name the paths that may be overwritten; what is there now is kept")
}

// mayHaveUndone looks again, now that what was landed is out of reach: it has
// to be what mayUndo saw.
func (s *site) mayHaveUndone(lefts *journal, force func(string) bool) error {
	refusal := forkbox.Errorf(forkbox.Conflict, opUndo, "the tree changed at the very moment")
	in := &inspection{site: s, slots: true}
	in.report = func(_ *record, p, why string) {
		if !force(p) {
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
		return s.changedIn(&s.places[r.Place].tree, "/"+r.Slot, r, was)
	}
	if err := s.who.do(func() error { return in.run(lefts) }); err != nil || len(refusal.Items) == 0 {
		return err
	}
	return refusal
}

// freeingMoves finds the moves from where this landing did something else as
// well: whether there is room now says nothing about later.
func (s *site) freeingMoves() (map[int]bool, error) {
	found := map[int]bool{}
	moves, err := s.movesOf()
	if err != nil || len(moves) == 0 {
		return found, err
	}
	err = each(s.plan.forward(0, s.plan.size), func(r *record) error {
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
func (s *site) stands(r *record, l *left, freeing bool) (string, error) {
	switch r.Op {
	case Move:
		if freeing {
			return "", nil
		}
		if from, err := s.tree.look(r.From); err != nil || from != nil {
			return fmt.Sprintf("something is at %q again", r.From), err
		}
		return "", nil
	case Attr:
		return s.attrsChanged(r, l)
	}
	return s.changedSince(r, l)
}

func (s *site) attrsChanged(r *record, l *left) (string, error) {
	h, err := s.openAt(r.Path)
	if err != nil {
		return "it was deleted since", nil
	}
	defer unix.Close(h.fd)
	now, err := fstat(h.fd)
	if err != nil {
		return "", err
	}
	now.Xattrs = h.xattrs()
	d := &driver{site: s, force: func(string) bool { return false }}
	return d.mayChange(r, l, h, now), nil
}

// cannotReturn says why a record cannot be taken back even by force.
func (s *site) cannotReturn(r *record, freeing bool) string {
	switch {
	case r.Inside:
		return ""
	case r.Op != Attr && s.places[r.Place].fd < 0:
		return "what was there before is gone: " + join(s.places[r.Place].In, s.name)
	case r.Op == Attr:
		if now, err := s.tree.look(r.Path); err != nil || now == nil {
			return "it was deleted since"
		}
		return ""
	case r.Op == Move && !freeing && s.isGone(path.Dir(r.From)):
		return "the directory that it was in is gone"
	case r.Op == Move && !r.Entrywise:
		if now, err := s.tree.look(r.Path); err != nil || !now.is(r.Old) {
			return "what was moved there is gone"
		}
	case r.Old != nil && s.isGone(path.Dir(r.Path)):
		return "the directory that it was in is gone"
	}
	return ""
}

func (s *site) isGone(dir string) bool {
	_, err := s.tree.dir(dir)
	return err != nil
}
