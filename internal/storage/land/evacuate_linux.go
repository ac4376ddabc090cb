package land

import (
	"path"

	"golang.org/x/sys/unix"
)

// evacuate moves what is in a directory to slots, deepest first. A directory
// is removed when it is empty, and an empty one in its slot stands for it: so
// the slot of everything that was evacuated is taken, whatever else may be
// where it was. It can be repeated. check says why something may not be moved.
func (s *site) evacuate(r *record, top string, check func(*part, *object) string) error {
	defer s.tree.forget()
	at := s.ranges[r.N]
	return s.eachPart(s.parts.backward(at.from, at.to), func(p *part) error {
		to, slot, err := s.places[r.Place].slot(p.Slot)
		if err != nil {
			return err
		}
		if there, err := lstat(to, slot); err != nil || there != nil {
			return err
		}
		return s.evacuatePart(p, path.Join(top, p.Rel), end{dir: to, name: slot}, check)
	})
}

func (s *site) evacuatePart(p *part, from string, to end, check func(*part, *object) string) error {
	now, err := s.tree.look(from)
	if err != nil {
		return err
	}
	if why := check(p, now); why != "" {
		return conflict(opLand, from, why)
	}
	if p.Obj.isDir() {
		return s.vacateDir(from, now, to)
	}
	if now == nil {
		return nil
	}
	return s.vacate(from, now, to)
}

// vacate moves one file to its slot.
func (s *site) vacate(from string, now *object, to end) error {
	dir, name, err := s.tree.parent(from)
	if err != nil {
		return err
	}
	if err := rename(dir, name, to.dir, to.name, unix.RENAME_NOREPLACE); err != nil {
		return err
	}
	came, err := lstat(to.dir, to.name)
	if err == nil && (came == nil || !now.sameContent(came)) {
		return conflict(opLand, from, "it changed at the very moment")
	}
	return err
}

// vacateDir removes an empty directory. What will stand for it is made first,
// under another name: while that is there, a crash came in between.
func (s *site) vacateDir(from string, now *object, to end) error {
	if err := mkdir(to.dir, to.name+leaving); err != nil && err != unix.EEXIST {
		return err
	}
	if now != nil {
		dir, name, err := s.tree.parent(from)
		if err == nil {
			err = s.removeEmpty(dir, name, from)
		}
		if err != nil {
			return err
		}
	}
	return rename(to.dir, to.name+leaving, to.dir, to.name, unix.RENAME_NOREPLACE)
}

const leaving = ".leaving"

// planned is the check of a landing: only what was there when it was planned
// may be moved.
func (s *site) planned(r *record) func(*part, *object) string {
	return func(p *part, now *object) string { return s.changed(r, now, p.Obj, false) }
}

func (s *site) removeEmpty(dir int, name, p string) error {
	err := unlink(dir, name, unix.AT_REMOVEDIR)
	if err == unix.ENOTEMPTY || err == unix.EEXIST {
		return conflict(opLand, p, "something new is in it")
	}
	s.tree.forget()
	return err
}

// populate is the inverse of evacuate: it makes the directories again and
// moves what was in them there. It can be repeated.
func (s *site) populate(r *record, top string) error {
	defer s.tree.forget()
	at := s.ranges[r.N]
	return s.eachPart(s.parts.forward(at.from, at.to), func(p *part) error {
		return s.populatePart(r, p, path.Join(top, p.Rel))
	})
}

func (s *site) populatePart(r *record, p *part, to string) error {
	from, slot, err := s.places[r.Place].slot(p.Slot)
	if err != nil {
		return err
	}
	there, err := lstat(from, slot)
	if err != nil {
		return err
	}
	dir, name, err := s.tree.parent(to)
	if err != nil && there == nil {
		return gone(err)
	}
	if err != nil {
		return err
	}
	if p.Obj.isDir() {
		there, err = s.standIn(end{from, slot, there}, end{dir: dir, name: name}, p.Obj)
	}
	if err != nil || there == nil {
		return err // it is not in the slot: it never left, or is elsewhere
	}
	return carry(end{from, slot, p.Obj}, end{dir: dir, name: name}, unix.RENAME_NOREPLACE)
}

// standIn makes of the directory that stands for another the one that it
// stands for, still in the slot; nil says that there is none.
func (s *site) standIn(slot, to end, o *object) (*object, error) {
	if slot.obj == nil {
		half, err := lstat(slot.dir, slot.name+leaving)
		if err != nil || half == nil {
			return nil, err
		}
		if now, err := lstat(to.dir, to.name); err != nil || now != nil {
			return nil, besides(err, unlink(slot.dir, slot.name+leaving, unix.AT_REMOVEDIR))
		}
		if err := rename(slot.dir, slot.name+leaving, slot.dir, slot.name, unix.RENAME_NOREPLACE); err != nil {
			return nil, err
		}
	}
	return o, makeAgain(slot.dir, slot.name, o)
}

// isOut says whether all that a record moves has left where it was, so that
// what is at the other end is ours.
func (s *site) isOut(r *record) (bool, error) {
	o, err := s.places[r.Place].lookSlot(r.Slot + outToken)
	return o != nil, err
}

// setOut makes the token that isOut looks for, or removes it.
func (s *site) setOut(r *record, out bool) error {
	dir, name, err := s.places[r.Place].slot(r.Slot + outToken)
	if err != nil {
		return err
	}
	if out {
		err = mkdir(dir, name)
	} else {
		err = unlink(dir, name, unix.AT_REMOVEDIR)
	}
	if err == unix.EEXIST || err == unix.ENOENT {
		return nil
	}
	return err
}

const outToken = ".out"

// makeAgain gives a directory in a slot all the attributes of another.
func makeAgain(dir int, slot string, o *object) error {
	fd, err := open(dir, slot, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return handle{fd, false}.become("", o)
}
