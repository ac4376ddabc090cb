package land

import (
	"cmp"
	"context"
	"errors"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

// Commit lands what was staged. When it returns nil, that is durable. On any
// error the tree is as it was before, and so is the disk; only where another
// process changed the tree under it can something be left, which Recover then
// calls torn. A committed landing needs no Abort.
func (l *Landing) Commit(ctx context.Context) error {
	if l.ended || l.broken != nil {
		return forkbox.Errorf(forkbox.Busy, opLand, "it has ended, or an item failed: %w", errors.Join(l.broken, unix.EINVAL))
	}
	l.ended = true
	defer l.close()
	if err := l.prepare(ctx); err != nil {
		return besides(err, l.discard())
	}
	if err := mark(l.dir, marker{Stage: committing, Discard: !l.cfg.Keep}); err != nil {
		return l.undoAll(err)
	}
	if err := l.who.do(func() error { return l.forth(l.cancellable(ctx, l.landing()), nil) }); err != nil {
		return l.undoAll(err)
	}
	if err := l.conclude(done, leftFile, l.landedLeft); err != nil {
		return l.undoAll(err)
	}
	// It has landed. What is left to do is tidying, and Recover does it too.
	_ = l.settle(l.cfg.Keep)
	return nil
}

// prepare makes everything durable that Commit and Recover will rely on.
func (l *Landing) prepare(ctx context.Context) error {
	if err := cmp.Or(ctx.Err(), l.vacate()); err != nil {
		return err
	}
	err := l.who.do(func() error {
		if err := l.leave(""); err != nil {
			return err
		}
		if err := l.plan.flush(); err != nil {
			return err
		}
		if err := l.exceptMoved(); err != nil {
			return err
		}
		if err := l.planParts(); err != nil {
			return err
		}
		return l.makeLinks()
	})
	if err == nil {
		err = l.shareJournal()
	}
	if err == nil {
		err = l.syncAll()
	}
	for _, j := range []*journal{l.plan, l.parts} {
		if err == nil {
			err = j.sync()
		}
	}
	if err == nil {
		err = syncFile(l.dir)
	}
	return wrap(opLand, err)
}

// cancellable has a visitor stop when ctx ends.
func (s *site) cancellable(ctx context.Context, v visitor) visitor {
	item := v.item
	v.item = func(r *record, l *left) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return item(r, l)
	}
	return v
}

// undoAll takes back what was done so far, because of cause.
func (l *Landing) undoAll(cause error) error {
	torn, err := []forkbox.Caution(nil), l.notConcluded(done, committing)
	if err == nil {
		torn, err = l.rollback()
	}
	switch {
	case err != nil:
		return errors.Join(cause, forkbox.Errorf(forkbox.Internal, opLand, "take back what was done: %w", err).Hint("it is tried again at the next apply or undo, and when the daemon starts"))
	case len(torn) > 0:
		return tornError(opLand, cause, torn)
	}
	return wrap(opLand, cause)
}

// tornError says why something failed, and what could not be put back then.
func tornError(op string, cause error, torn []forkbox.Caution) error {
	e := forkbox.Errorf(forkbox.Conflict, op, "%w; then the tree changed, and %d paths could not be put back; nothing is lost", cause, len(torn))
	var why *forkbox.Error
	if errors.As(cause, &why) {
		e.Items = append(e.Items, why.Items...)
	}
	e.Items = append(e.Items, torn...)
	return e
}
