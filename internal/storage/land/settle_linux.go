package land

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox/internal/linux"
	"github.com/forkbox/forkbox/internal/storage/land/files"
)

// conclude makes the flips durable, writes down what they left, and only then
// says that they are done. look tells what a record left; its error says that
// something was taken away that should not have been.
func (s *site) conclude(to stage, name string, look func(*record) (left, error)) error {
	if err := s.hand.syncAll(); err != nil {
		return err
	}
	op := opLand
	if to == undone {
		op = opUndo
	}
	bytes, err := s.witness.weigh()
	if err == nil {
		err = s.writeLeft(name, look)
	}
	if err != nil {
		return wrap(op, err)
	}
	return wrap(op, mark(s.dir, marker{Stage: to, Bytes: bytes, Discard: !s.cfg.Keep}))
}

// notConcluded takes back a marker which says that something is done, and which
// may not last: what is on the way back when a crash comes is not done.
func (s *site) notConcluded(to, at stage) error {
	m, err := readMarker(s.cfg.Dir)
	if err != nil || m.Stage != to {
		return err
	}
	return mark(s.dir, marker{Stage: at, Discard: m.Discard})
}

// writeLeft records what is at every path, and in every slot.
func (s *site) writeLeft(name string, look func(*record) (left, error)) error {
	next, dir := name+".next", int(s.dir.Fd())
	if err := files.Unlink(dir, next, 0); err != nil && err != unix.ENOENT {
		return err
	}
	j, err := newJournal(s.dir, next)
	if err != nil {
		return err
	}
	defer j.close()
	err = s.who.Do(func() error {
		return s.plan.each(func(r *record) error {
			l, err := look(r)
			if err != nil {
				return err
			}
			return j.add(l)
		})
	})
	if err == nil {
		err = j.sync()
	}
	if err != nil {
		_ = files.Unlink(dir, next, 0) // on a full disk the way back needs the room
		return err
	}
	return files.Rename(dir, next, dir, name, 0)
}

// following yields to look what was left of each record before.
func following(lefts *journal, look func(*record, *left) left) func(*record) (left, error) {
	before := ahead(lefts)
	return func(r *record) (l left, err error) {
		var was left
		if err := nextLine(before, &was); err != nil {
			return l, err
		}
		return look(r, &was), nil
	}
}

// discard removes all that a landing has made: what was staged, and its
// journal. It must be back where it came from.
func (s *site) discard() error {
	if err := s.who.Do(s.yard.clearPlaces); err != nil {
		return err
	}
	return wrap(opLand, s.forget())
}

// forget removes the landing's own directory, the marker last: as long as
// anything is there, it says what it is.
func (s *site) forget() error {
	fd := int(s.dir.Fd())
	names, err := linux.List(fd)
	if err != nil {
		return err
	}
	for _, name := range names {
		if name == markerFile {
			continue
		}
		if err := files.RemoveAll(fd, name); err != nil {
			return err
		}
	}
	return s.forgetDir(fd)
}

func (s *site) forgetDir(fd int) error {
	if err := files.RemoveAll(fd, markerFile); err != nil {
		return err
	}
	parent := filepath.Dir(s.cfg.Dir)
	if err := files.Act("rmdir", func() error { return unix.Rmdir(s.cfg.Dir) }); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return syncDir(parent)
}

// settle tidies up after a landing or an undo that is done.
func (s *site) settle(keep bool) error {
	if keep {
		return s.yard.stow()
	}
	if err := s.yard.clearOld(); err != nil {
		return err
	}
	return wrap(opLand, s.forget())
}

// settleUndone tidies up after an undo. A name that was put for a file which
// the tree still has is nothing to keep: it would only be counted there.
func (s *site) settleUndone() error {
	err := s.who.Do(func() error { return s.plan.eachWith(isLink, s.dropName) })
	return besides(err, s.settle(true))
}

func (s *site) dropName(r *record) error {
	if r.Link == "" || s.yard.lacks(r) {
		return nil
	}
	there, err := s.yard.of(r).lookSlot(r.Slot)
	if err != nil || there == nil {
		return err
	}
	dir, name, err := s.yard.of(r).slot(r.Slot)
	if err != nil {
		return err
	}
	if now, err := s.tree.Look(r.Link); err != nil || !there.Is(now) || now.Nlink < 2 {
		return err
	}
	if err := (files.Handle{Fd: dir}).Writable(func() error { return files.Unlink(dir, name, 0) }); err != nil {
		return err
	}
	s.tellLink(r)
	return nil
}
