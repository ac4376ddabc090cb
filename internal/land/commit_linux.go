package land

import (
	"cmp"
	"context"
	"errors"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

// Commit lands what was staged. When it returns nil, that is durable. On any
// error the tree is as it was before, and so is the disk; only where somebody
// else changed the tree under it can something be left, which Recover then
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
	if err := l.conclude(done, leftFile, nil); err != nil {
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
		if err := l.planParts(); err != nil {
			return err
		}
		return l.makeLinks()
	})
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
	return forkbox.Wrap(opLand, err)
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

// conclude makes the flips durable, writes down what they left, and only then
// says that they are done.
func (s *site) conclude(to stage, lefts string, before *journal) error {
	if err := s.syncAll(); err != nil {
		return err
	}
	if err := s.writeLeft(lefts, before); err != nil {
		return forkbox.Wrap(opLand, err)
	}
	bytes, err := s.measure()
	if err != nil {
		return forkbox.Wrap(opLand, err)
	}
	return forkbox.Wrap(opLand, mark(s.dir, marker{Stage: to, Bytes: bytes, Discard: !s.cfg.Keep}))
}

// writeLeft records what is at every path, and in every slot. Where that was
// recorded before and somebody has changed it since, the old record stays.
func (s *site) writeLeft(name string, before *journal) error {
	next, dir := name+".next", int(s.dir.Fd())
	if err := unlink(dir, next, 0); err != nil && err != unix.ENOENT {
		return err
	}
	j, err := newJournal(s.dir, next)
	if err != nil {
		return err
	}
	defer j.close()
	err = s.who.do(func() error {
		return eachLeft(s.plan.forward(0, s.plan.size), ahead(before), func(r *record, was *left) error {
			if was != nil {
				if why, err := s.changedSince(r, was); why != "" || err != nil {
					return errors.Join(err, j.add(was))
				}
			}
			return j.add(s.leftBy(r, name == leftFile))
		})
	})
	if err == nil {
		err = j.sync()
	}
	if err != nil {
		return err
	}
	return rename(dir, next, dir, name, 0)
}

// leftBy looks. What the caller may not look at is not there.
func (s *site) leftBy(r *record, landed bool) left {
	l := left{N: r.N}
	at := r.Path
	if !landed {
		at = r.before()
	}
	l.Now, _ = s.tree.look(at)
	switch {
	case r.flips():
		l.Slot, _ = s.places[r.Place].lookSlot(r.Slot)
	case r.Link != "":
		l.Slot, _ = s.tree.look(r.Link) // it has another name, and so another time
	}
	return l
}

// undoAll takes back what was done so far, because of cause.
func (l *Landing) undoAll(cause error) error {
	torn, err := l.rollback()
	switch {
	case err != nil:
		return errors.Join(cause, forkbox.Errorf(forkbox.Internal, opLand, "take back what was done: %w", err).Hint("it is tried again at the next start"))
	case len(torn) > 0:
		return errors.Join(cause, tornError(torn))
	}
	return forkbox.Wrap(opLand, cause)
}

func tornError(torn []forkbox.Caution) error {
	e := forkbox.Errorf(forkbox.Conflict, opLand, "the tree changed meanwhile, and %d paths could not be put back; nothing is lost", len(torn))
	e.Items = torn
	return e
}
