package land

import (
	"os"
	"path"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/linux"
)

// FindStrays lists the staging directories in a directory of the tree. Whose
// landings they belong to is for the caller to find out.
func FindStrays(root *os.File, dir string) (found []string) {
	t := tree{root: int(root.Fd())}
	defer t.forget()
	fd, err := t.dir(dir)
	if err != nil {
		return nil
	}
	names, _ := linux.List(fd)
	for _, name := range names {
		if _, ok := strayID(name); !ok {
			continue
		}
		if o, err := lstat(fd, name); err == nil && o.isDir() {
			found = append(found, join(dir, name))
		}
	}
	return found
}

// LookStray says what a staging directory holds. who has to own it, or be root.
func LookStray(root *os.File, dir string, who forkbox.Owner) (Stray, error) {
	s, err := openStray(root, dir, who)
	if err != nil {
		return Stray{}, err
	}
	defer s.close()
	return s.survey()
}

// RestoreStray takes back what a landing did whose own directory is lost, as
// Recover would: what it displaced returns to its paths. Where something else is
// by now, that stays, and is named. Nothing is deleted: what had landed goes
// into the staging directory, which may be the only place that still has it.
func RestoreStray(root *os.File, dir string, who forkbox.Owner) (Stray, []forkbox.Caution, error) {
	s, err := openStray(root, dir, who)
	if err != nil {
		return Stray{}, nil, err
	}
	defer s.close()
	before, err := s.survey()
	switch {
	case err != nil:
		return before, nil, err
	case before.Landing == "":
		return before, nil, forkbox.Errorf(forkbox.Unsupported, opRestore, "%s does not say where its files belong", dir).
			Hint("an older version made it; look at them yourself: ls -lA %s", dir)
	case !before.Touched:
		return before, nil, forkbox.Errorf(forkbox.Invalid, opRestore, "%s holds nothing of reality: the apply had not begun to land", dir).
			Hint("what was to land is in it; delete it: forkbox repair --stray %s --delete", dir)
	}
	d, err := s.takeBack()
	if err != nil {
		return before, nil, forkbox.Wrap(opRestore, err)
	}
	after, err := s.survey()
	return after, d.torn, err
}

// DeleteStray removes a staging directory with all that is in it.
func DeleteStray(root *os.File, dir string, who forkbox.Owner) (Stray, error) {
	s, err := openStray(root, dir, who)
	if err != nil {
		return Stray{}, err
	}
	defer s.close()
	before, err := s.survey()
	if err == nil {
		err = s.who.do(s.removeStray)
	}
	if refused(err) && who.UID == 0 {
		err = s.removeStray() // what others have in a directory of the owner's
	}
	return before, failed(opDelete, dir, err)
}

// openStray opens a staging directory as if it were the landing's own. It is
// found with the rights of who asks, and everything else is done with those of
// its owner: what it says is only as good as the one who could write it.
func openStray(root *os.File, dir string, who forkbox.Owner) (*site, error) {
	if _, ok := strayID(dir); !ok || checkPath(dir) != nil {
		return nil, forkbox.Errorf(forkbox.Invalid, opFind, "%q is no absolute path of a directory .forkbox-ID", dir).
			Hint("forkbox doctor lists them")
	}
	s, err := newSite(Config{Dir: dir, Root: root, Owner: actingFor(who)})
	if err != nil {
		return nil, err
	}
	s.name = path.Base(dir)
	if err := s.openStrayDir(who); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// actingFor is whose rights are needed: the process's own, or a user's.
func actingFor(who forkbox.Owner) *forkbox.Owner {
	if who.UID == 0 || os.Geteuid() != 0 {
		return nil
	}
	return &who
}

func (s *site) openStrayDir(who forkbox.Owner) error {
	var fd int
	err := s.who.do(func() (err error) {
		fd, err = s.tree.resolve(s.cfg.Dir[1:], unix.O_RDONLY|unix.O_DIRECTORY)
		return err
	})
	if err != nil {
		return forkbox.Errorf(forkbox.NotFound, opFind, "open %s: %w", s.cfg.Dir, err).Hint("forkbox doctor lists them")
	}
	s.dir = os.NewFile(uintptr(fd), s.cfg.Dir)
	o, err := fstat(fd)
	if err != nil {
		return err
	}
	if int(o.UID) != who.UID && who.UID != 0 {
		return forkbox.Errorf(forkbox.Denied, opFind, "%s belongs to user %d", s.cfg.Dir, o.UID).Hint("ask them, or root")
	}
	if int(o.UID) != who.UID {
		s.who.stop()
		if s.who, err = actAs(actingFor(forkbox.Owner{UID: int(o.UID), GID: int(o.GID)})); err != nil {
			return err
		}
	}
	if err := s.readJournals(); err != nil {
		return damaged(s.cfg.Dir, err)
	}
	if err := s.checkPlan(); err != nil {
		return err
	}
	return s.openPlaces()
}

// checkPlan: a journal that lay in the tree may have been written by the user
// who owns the directory.
func (s *site) checkPlan() error {
	return each(s.plan.forward(0, s.plan.size), func(r *record) error {
		inPlace := r.Op != Attr || r.Inside
		switch {
		case inPlace && (r.Place < 0 || r.Place >= len(s.places) || r.Slot == ""),
			checkPath(r.Path) != nil, r.Op == Move && (checkPath(r.From) != nil || r.Old == nil),
			r.Op == Put && r.New == nil, r.Op == Remove && r.Old == nil, r.Op == Attr && (r.Old == nil || r.New == nil):
			return damaged(s.cfg.Dir, nil)
		}
		return nil
	})
}

// survey looks at what a staging directory holds.
func (s *site) survey() (Stray, error) {
	fd := int(s.dir.Fd())
	o, err := fstat(fd)
	if err != nil {
		return Stray{}, err
	}
	id, _ := strayID(s.cfg.Dir)
	st := Stray{Dir: s.cfg.Dir, ID: id, UID: int(o.UID), Touched: s.plan.size > 0}
	// One that cannot be read was cut off when it was written: nothing was
	// staged by then.
	if a, err := readAbout(fd); err == nil {
		st.Landing = a.Landing
	}
	if err := s.isStaging(fd, st); err != nil {
		return st, err
	}
	if st.Files, err = countFiles(fd); err != nil {
		return st, err
	}
	return st, s.who.do(func() error {
		return each(s.plan.forward(0, s.plan.size), func(r *record) error { return s.countKept(&st, o.Ino, r) })
	})
}

// isStaging refuses what only has the name of a staging directory.
func (s *site) isStaging(fd int, st Stray) error {
	ignore, err := lstat(fd, ignoreFile)
	if err != nil || st.Landing != "" || ignore != nil && ignore.isRegular() && ignore.Size == 2 {
		return err
	}
	if names, err := linux.List(fd); err != nil || !slices.ContainsFunc(names, isSlot) {
		return err
	}
	return forkbox.Errorf(forkbox.Invalid, opFind, "%s is not what an apply leaves behind", s.cfg.Dir)
}

// countFiles counts what is in the directory but for the landing's own.
func countFiles(fd int) (int, error) {
	names, err := linux.List(fd)
	if err != nil {
		return 0, err
	}
	var w weight
	for _, name := range names {
		if !isSlot(name) {
			continue
		}
		if _, err := w.add(fd, name, name); err != nil {
			return 0, err
		}
	}
	return int(w.tally.Count), nil
}

// countKept counts a record whose old object is in the directory with this
// inode.
func (s *site) countKept(st *Stray, ino uint64, r *record) error {
	if r.Inside || r.Op == Attr || s.places[r.Place].Ino != ino || s.places[r.Place].fd < 0 {
		return nil
	}
	kept, err := s.keepsOld(r)
	if err != nil || !kept {
		return gone(err)
	}
	if st.Kept++; len(st.Paths) < shownPaths {
		st.Paths = append(st.Paths, r.before())
	}
	return nil
}

// keepsOld says whether what a record displaced is in its slot: what is not
// what was staged.
func (s *site) keepsOld(r *record) (bool, error) {
	p := s.places[r.Place]
	if r.Entrywise {
		found := false
		at := s.ranges[r.N]
		err := s.eachPart(s.parts.forward(at.from, at.to), func(x *part) error {
			there, err := p.lookSlot(x.Slot)
			found = found || there != nil
			return err
		})
		return found, err
	}
	there, err := p.lookSlot(r.Slot)
	return there != nil && !there.is(r.New), err
}

func (s *site) removeStray() error {
	if err := removeIn(int(s.dir.Fd())); err != nil {
		return err
	}
	parent, err := s.freshDir(path.Dir(s.cfg.Dir))
	if err != nil {
		return err
	}
	defer unix.Close(parent)
	was, err := fstat(int(s.dir.Fd()))
	if err != nil {
		return err
	}
	if now, err := lstat(parent, s.name); err != nil || !now.is(was) {
		return err
	}
	return unlink(parent, s.name, unix.AT_REMOVEDIR)
}
