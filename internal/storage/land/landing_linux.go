package land

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

// Landing is a landing that goes on. It is used by one goroutine at a time.
type Landing struct {
	*site
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
	s.reached = &reach{dirs: math.MaxInt}
	return &Landing{site: s, spots: map[string]spot{}}, nil
}

// create makes the landing's directory with empty journals.
func (s *site) create() error {
	err := act("mkdir", func() error { return unix.Mkdir(s.cfg.Dir, 0o700) })
	if errors.Is(err, unix.EEXIST) {
		return forkbox.Errorf(forkbox.Exists, opLand, "%s is there already", s.cfg.Dir)
	}
	if err == nil {
		s.dir, err = os.Open(s.cfg.Dir)
	}
	if err == nil {
		err = s.createJournals()
	}
	if err == nil {
		err = syncDir(filepath.Dir(s.cfg.Dir))
	}
	if err != nil && s.dir != nil {
		s.forget()
	}
	return wrap(opLand, err)
}

func (s *site) createJournals() (err error) {
	if s.noted, err = newJournal(s.dir, placesFile); err != nil {
		return err
	}
	if s.plan, err = newJournal(s.dir, planFile); err != nil {
		return err
	}
	if s.parts, err = newJournal(s.dir, partsFile); err != nil {
		return err
	}
	return syncFile(s.dir)
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return syncFile(f)
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
		err = l.who.do(func() error { return l.stage(r, &it, source) })
	}
	if err == nil && r.flips() && r.Old.isDir() {
		err = l.lookBelow(r, &it)
	}
	if err == nil {
		err = wrap(opLand, l.plan.addRecord(*r))
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
	tally, err := l.tallyAt(&l.tree, r.At, "")
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
			t, err := l.tallyAt(&l.tree, m.From, strings.TrimPrefix(m.From[len(r.At):], "/"))
			if err != nil {
				return failed(opLand, m.From, err)
			}
			out := l.movedOut[r.N]
			l.movedOut[r.N] = Tally{out.Sum + t.Sum, out.Count + t.Count}
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
	defer l.close()
	return l.discard()
}
