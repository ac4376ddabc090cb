package land

import (
	"errors"

	"golang.org/x/sys/unix"
)

// flip lands one record: what was staged goes to its path, what was there to
// the slot. Right before, what is there has to be what the caller saw; whether
// it still was at the very moment shows in the slot, when all have landed.
func (s *site) flip(r *record) error {
	old := r.Old
	if r.Entrywise {
		if err := s.evacuate(r, r.Path, s.planned(r)); err != nil {
			return failed(opLand, r.Path, err)
		}
		old = nil
	}
	dir, name, err := s.tree.parent(r.Path)
	if err != nil {
		return failed(opLand, r.Path, err)
	}
	now, err := lstat(dir, name)
	if err != nil {
		return failed(opLand, r.Path, err)
	}
	if why := s.changed(r, now, old, true); why != "" {
		return conflict(opLand, r.Path, why)
	}
	if err := s.swap(dir, name, now, r, r.New); err != nil {
		return failed(opLand, r.Path, err)
	}
	s.touch(old)
	return nil
}

// touch notes that the other names of a file see a new ctime.
func (s *site) touch(o *object) {
	if o != nil && o.Nlink > 1 {
		s.touched[o.inode()] = true
	}
}

// swap exchanges what is at a path with what is in the record's slot; either
// may be nothing.
func (s *site) swap(dir int, name string, here *object, r *record, there *object) error {
	slotDir, slot, err := s.places[r.Place].slot(r.Slot)
	if err != nil {
		return err
	}
	defer s.forgetMoved(here, there)
	a, b := end{dir, name, here}, end{slotDir, slot, there}
	switch {
	case here != nil && there != nil:
		return carry(b, a, unix.RENAME_EXCHANGE)
	case there != nil:
		return carry(b, a, unix.RENAME_NOREPLACE)
	case here != nil:
		return carry(a, b, unix.RENAME_NOREPLACE)
	}
	return nil
}

func (s *site) forgetMoved(objects ...*object) {
	for _, o := range objects {
		if o.isDir() {
			s.tree.forget()
			for _, p := range s.places {
				p.tree.forget()
			}
		}
	}
}

// end is one end of a rename.
type end struct {
	dir  int
	name string
	obj  *object // what is there; nil is nothing
}

// carry renames. To move a directory one must be able to write in it, for it
// knows the directory that it is in; one that is read-only even to its owner
// is made writable for the moment.
func carry(from, to end, flags uint) error {
	err := rename(from.dir, from.name, to.dir, to.name, flags)
	if !errors.Is(err, unix.EACCES) {
		return err
	}
	var loosened []func() error
	for _, e := range []end{from, to} {
		if tighten := e.loosen(); tighten != nil {
			loosened = append(loosened, tighten)
		}
	}
	if loosened == nil {
		return err
	}
	err = rename(from.dir, from.name, to.dir, to.name, flags)
	for _, tighten := range loosened {
		err = errors.Join(err, tighten())
	}
	return err
}

// loosen makes a read-only directory writable; what it returns undoes that.
func (e end) loosen() func() error {
	if !e.obj.isDir() {
		return nil
	}
	fd, err := open(e.dir, e.name, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return nil
	}
	h := handle{fd, false}
	now, err := fstat(fd)
	if err != nil || now.perm()&0o200 != 0 || h.chmod(now.Mode|0o200) != nil {
		unix.Close(fd)
		return nil
	}
	return func() error {
		defer unix.Close(fd)
		return h.chmod(now.Mode)
	}
}

// takeOut is the first half of a move: from where it was to the slot.
func (s *site) takeOut(r *record) error {
	if r.Entrywise {
		err := s.evacuate(r, r.From, s.planned(r))
		if err == nil {
			err = s.setOut(r, true)
		}
		return failed(opLand, r.From, err)
	}
	dir, name, err := s.tree.parent(r.From)
	if err != nil {
		return failed(opLand, r.From, err)
	}
	now, err := lstat(dir, name)
	if err != nil {
		return failed(opLand, r.From, err)
	}
	if why := s.differs(now, r.Old, !r.Old.isDir()); why != "" {
		return conflict(opLand, r.From, why)
	}
	if in, err := fstat(dir); err == nil {
		s.touched[in.inode()] = true // it has a new time now; that is no edit
	}
	if err := s.swap(dir, name, now, r, nil); err != nil {
		return failed(opLand, r.From, err)
	}
	s.touch(r.Old)
	return nil
}

// bringIn is the second half: from the slot to where it goes.
func (s *site) bringIn(r *record) error {
	dir, name, err := s.tree.parent(r.Path)
	if err != nil {
		return failed(opLand, r.Path, err)
	}
	if now, err := lstat(dir, name); err != nil || now != nil {
		return failed(opLand, r.Path, errors.Join(err, unix.EEXIST))
	}
	if r.Entrywise {
		return failed(opLand, r.Path, s.populate(r, r.Path))
	}
	return failed(opLand, r.Path, s.swap(dir, name, nil, r, r.Old))
}

// changeAttrs does an attr in place.
func (s *site) changeAttrs(r *record) error {
	h, err := s.openAt(r.Path)
	if err != nil {
		return failed(opLand, r.Path, err)
	}
	defer unix.Close(h.fd)
	now, err := fstat(h.fd)
	if err != nil {
		return failed(opLand, r.Path, err)
	}
	if why := s.changed(r, now, r.Old, false); why != "" {
		return conflict(opLand, r.Path, why)
	}
	if !sameAttrs(now, r.Old) || !sameXattrs(h.xattrs(), r.Old.Xattrs) {
		return conflict(opLand, r.Path, "its attributes changed meanwhile")
	}
	s.reached.note(r)
	s.alsoSync(r.Path, now)
	return failed(opLand, r.Path, h.become(r.Path, r.New))
}
