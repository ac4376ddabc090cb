package land

import (
	"context"
	"encoding/json"
	"errors"
	"os"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/storage/land/files"
)

// Entries yields the items of a landing in the order in which they were
// staged. They stay readable when the landing was undone and when it expired.
func Entries(dir string, yield func(Entry) error) error { return entries(dir, anything, yield) }

// Moves yields those of them that moved a directory.
func Moves(dir string, yield func(Entry) error) error {
	return entries(dir, isMove, func(e Entry) error {
		if e.Op != Move {
			return nil
		}
		return yield(e)
	})
}

// Puts yields the paths at which a landing put something that it left there.
// It costs a fraction of Entries.
func Puts(dir string, yield func(path string)) error {
	return withJournals(dir, func(plan, lefts lines) error {
		return eachLine(isPut, plan, lefts, func(line, beside []byte) error {
			if !isNow(beside) {
				return nil
			}
			var r struct{ Op, Asked, Path string }
			if err := json.Unmarshal(line, &r); err != nil {
				return err
			}
			if r.Op == string(Put) && r.Asked == "" {
				yield(files.Unpack(r.Path))
			}
			return nil
		})
	})
}

func entries(dir string, with trait, yield func(Entry) error) error {
	return withJournals(dir, func(plan, lefts lines) error {
		return eachLeftWith(with, plan, lefts, func(r *record, l *left) error { return yield(entryOf(r, l)) })
	})
}

func withJournals(dir string, do func(plan, lefts lines) error) error {
	m, err := readMarker(dir)
	if err != nil {
		return forkbox.Wrap(opRead, err)
	}
	d, err := os.Open(dir)
	if errors.Is(err, os.ErrNotExist) {
		return forkbox.Errorf(forkbox.NotFound, opRead, "there is no landing in %s", dir)
	}
	if err != nil {
		return forkbox.Wrap(opRead, err)
	}
	defer d.Close()
	plan, err := openJournal(d, planFile)
	if err != nil {
		return forkbox.Wrap(opRead, err)
	}
	defer plan.close()
	lefts, err := openLefts(d, m.Stage)
	if err != nil {
		return forkbox.Wrap(opRead, err)
	}
	defer lefts.close()
	return do(plan.forward(0, plan.size), ahead(lefts))
}

// openLefts opens the journal of what was left, once there is a whole one.
func openLefts(dir *os.File, at stage) (*journal, error) {
	switch at {
	case done, undoing:
		return openJournal(dir, leftFile)
	case undone:
		return openJournal(dir, undoneFile)
	}
	return nil, nil
}

func entryOf(r *record, l *left) Entry {
	e := Entry{Path: r.Path, Op: r.Op, From: r.From, Tag: r.Tag}
	copy(e.Sum[:], r.Sum)
	if r.Asked != "" {
		e.Op = r.Asked
	}
	if r.Old != nil {
		e.Old = &r.Old.Identity
	}
	if l != nil && l.Now != nil {
		e.Now = &l.Now.Identity
	}
	if l != nil && l.Slot != nil {
		e.Kept = &l.Slot.Identity
	}
	return e
}

// Kept is how many bytes a landing keeps for its undo.
func Kept(dir string) (int64, error) {
	m, err := readMarker(dir)
	if err != nil || m.Expired {
		return 0, forkbox.Wrap(opRead, err)
	}
	return m.Bytes, nil
}

// Expire deletes what a landing keeps: it can no longer be undone. Its
// journal stays readable. It can be repeated.
func Expire(ctx context.Context, cfg Config) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s, err := openSite(cfg)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return forkbox.Wrap(opExpire, err)
	}
	defer s.close()
	m, err := readMarker(cfg.Dir)
	if err != nil {
		return forkbox.Wrap(opExpire, err)
	}
	if m.Stage != done && m.Stage != undone && m.Stage != torn {
		return forkbox.Errorf(forkbox.Busy, opExpire, "it goes on, or was interrupted and is not yet recovered")
	}
	return forkbox.Wrap(opExpire, s.expire(m))
}

// expire says so first: half of what is kept is no good for an undo.
func (s *site) expire(m marker) error {
	if !m.Expired {
		m.Expired, m.Bytes = true, 0
		if err := mark(s.dir, m); err != nil {
			return err
		}
	}
	if err := s.yard.openPlaces(); err != nil {
		return err
	}
	return s.yard.clearOld()
}
