package land

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/storage/land/files"
)

// Landing is a landing that goes on. It is used by one goroutine at a time.
type Landing struct {
	crew
	site   *site
	n      int    // records so far
	last   string // path of the last item
	frames []frame
	moves  []*record
	links  []*record // to files that stay where they are
	// inTheWay are directories where something new is to go: a move must take
	// each of them away.
	inTheWay []string
	spots    map[string]spot // what was put and has more than one name
	looked   []*record       // directories that go, of which the caller did not say what is in them
	broken   error           // why it can only be aborted
	ended    bool
}

// spot is where something is staged.
type spot struct {
	place int
	slot  string
	sum   []byte
}

// Begin starts a landing: it creates cfg.Dir, whose parent must exist.
func Begin(ctx context.Context, cfg Config) (*Landing, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s, err := newSite(cfg)
	if err != nil {
		return nil, err
	}
	if err := s.create(); err != nil {
		s.close()
		return nil, err
	}
	s.hand.begin()
	return &Landing{crew: s.crew, site: s, spots: map[string]spot{}}, nil
}

// Stage prepares one item. Items come in path order: a directory, all that is
// below it, its next sibling. The sum is the SHA-256 of what was staged, read
// from what was staged: of a file's bytes, of a symlink's target.
// After an error the landing can only be aborted. Nothing in the tree has
// changed until Commit.
func (l *Landing) Stage(ctx context.Context, it Item) (sum [32]byte, err error) {
	if err := l.ready(ctx, &it); err != nil {
		return sum, err
	}
	l.n++
	l.last = it.Path
	r := &record{N: l.n, Op: it.Op, Path: it.Path, From: it.From, Place: -1, Tag: it.Tag}
	source := &source{ctx: ctx, item: &it}
	defer source.close()
	// Content may be the daemon's to open and not the user's.
	if err = source.open(); err == nil {
		err = l.who.Do(func() error { return l.stage(r, &it, source) })
	}
	if err == nil && r.flips() && r.Old.IsDir() {
		err = l.lookBelow(r, &it)
	}
	if err == nil {
		err = wrap(opLand, l.plan.add(r))
	}
	if err != nil {
		l.broken = err
	}
	copy(sum[:], r.Sum)
	return sum, err
}

// lookBelow remembers what is in a directory that goes with all that is in it.
func (l *Landing) lookBelow(r *record, it *Item) error {
	if r.Below = it.Below; r.Below != nil {
		return nil
	}
	tally, err := l.witness.tallyAt(l.tree, r.At, "")
	r.Below = &tally
	l.looked = append(l.looked, r)
	return failed(opLand, r.Path, err)
}

// exceptMoved takes from what is in such directories what this landing moves
// out of them: a caller who looked has left that out.
func (l *Landing) exceptMoved() error {
	for _, r := range l.looked {
		for _, m := range l.moves {
			if m.From == r.At || !forkbox.Within(m.From, r.At) || l.movesWithin(m, r.At) {
				continue
			}
			t, err := l.witness.tallyAt(l.tree, m.From, strings.TrimPrefix(m.From[len(r.At):], "/"))
			if err != nil {
				return failed(opLand, m.From, err)
			}
			l.witness.expectOut(r, t)
		}
	}
	return nil
}

// movesWithin says whether a move comes out of another that is below top.
func (l *Landing) movesWithin(m *record, top string) bool {
	return slices.ContainsFunc(l.moves, func(o *record) bool {
		return o.N != m.N && o.From != top && forkbox.Within(o.From, top) && forkbox.Within(m.From, o.From)
	})
}

func (l *Landing) ready(ctx context.Context, it *Item) error {
	switch {
	case l.ended:
		return forkbox.Errorf(forkbox.Busy, opLand, "the landing has ended")
	case l.broken != nil:
		return forkbox.Errorf(forkbox.Busy, opLand, "an earlier item failed: %w", l.broken)
	case ctx.Err() != nil:
		return ctx.Err()
	}
	if err := checkPath(it.Path); err != nil {
		return err
	}
	if it.Op == Move {
		if err := checkPath(it.From); err != nil {
			return err
		}
	}
	if l.last != "" && forkbox.ComparePaths(it.Path, l.last) < 0 {
		return forkbox.Errorf(forkbox.Invalid, opLand, "%q comes after %q: items have to be in path order", it.Path, l.last)
	}
	return nil
}

// Abort ends a landing that was not committed, and leaves no trace of it.
// When it fails, Recover can be tried later.
func (l *Landing) Abort() error {
	if l.ended {
		return nil
	}
	l.ended = true
	defer l.site.close()
	return l.site.discard()
}

// Commit lands what was staged. When it returns nil, that is durable. On any
// error the tree is as it was before, and so is the disk; only where another
// process changed the tree under it can something be left, which Recover then
// calls torn. A committed landing needs no Abort.
func (l *Landing) Commit(ctx context.Context) error {
	if l.ended || l.broken != nil {
		return forkbox.Errorf(forkbox.Busy, opLand, "it has ended, or an item failed: %w", errors.Join(l.broken, unix.EINVAL))
	}
	l.ended = true
	defer l.site.close()
	if err := l.prepare(ctx); err != nil {
		return besides(err, l.site.discard())
	}
	if err := mark(l.site.dir, marker{Stage: committing, Discard: !l.site.cfg.Keep}); err != nil {
		return l.undoAll(err)
	}
	if err := l.who.Do(func() error { return l.plan.forth(cancellable(ctx, l.hand.landing()), nil) }); err != nil {
		return l.undoAll(err)
	}
	if err := l.site.conclude(done, leftFile, l.witness.landedLeft); err != nil {
		return l.undoAll(err)
	}
	// It has landed. What is left to do is tidying, and Recover does it too.
	_ = l.site.settle(l.site.cfg.Keep)
	return nil
}

// prepare makes everything durable that Commit and Recover will rely on.
func (l *Landing) prepare(ctx context.Context) error {
	if err := cmp.Or(ctx.Err(), l.vacate()); err != nil {
		return err
	}
	err := l.who.Do(func() error {
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
		err = l.yard.share(l.plan)
	}
	if err == nil {
		err = l.hand.syncAll()
	}
	if err == nil {
		err = l.plan.sync()
	}
	if err == nil {
		err = files.SyncFile(l.site.dir)
	}
	return wrap(opLand, err)
}

// undoAll takes back what was done so far, because of cause.
func (l *Landing) undoAll(cause error) error {
	torn, err := []forkbox.Caution(nil), l.site.notConcluded(done, committing)
	if err == nil {
		torn, err = l.site.rollback()
	}
	switch {
	case err != nil:
		return errors.Join(cause, forkbox.Errorf(forkbox.Internal, opLand, "take back what was done: %w", err).Hint("it is tried again at the next apply or undo, and when the daemon starts"))
	case len(torn) > 0:
		return tornError(opLand, cause, torn)
	}
	return wrap(opLand, cause)
}

// OnStep has the tests of a whole daemon end it at a step of a landing.
func OnStep(call func()) {
	files.Step = func(string) error { call(); return nil }
}
