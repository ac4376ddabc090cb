package land

import (
	"os"
	"path"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/linux"
	"github.com/forkbox/forkbox/internal/storage/land/files"
)

// FindStrays lists the staging directories in a directory of the tree. Whose
// landings they belong to is for the caller to find out.
func FindStrays(root *os.File, dir string) (found []string) {
	t := files.Tree{Root: int(root.Fd())}
	defer t.Forget()
	fd, err := t.Dir(dir)
	if err != nil {
		return nil
	}
	names, _ := linux.List(fd)
	for _, name := range names {
		if _, ok := strayID(name); !ok {
			continue
		}
		if o, err := files.Lstat(fd, name); err == nil && o.IsDir() {
			found = append(found, join(dir, name))
		}
	}
	return found
}

// LookStray says what a staging directory holds. who has to own it, or be root.
func LookStray(root *os.File, dir string, who forkbox.Owner) (Stray, error) {
	m, err := openStray(root, dir, who)
	if err != nil {
		return Stray{}, err
	}
	defer m.site.close()
	return m.survey()
}

// RestoreStray takes back what a landing did whose own directory is lost, as
// Recover would: what it displaced returns to its paths. Where something else is
// by now, that stays, and is named. Nothing is deleted: what had landed goes
// into the staging directory, which may be the only place that still has it.
func RestoreStray(root *os.File, dir string, who forkbox.Owner) (Stray, []forkbox.Caution, error) {
	m, err := openStray(root, dir, who)
	if err != nil {
		return Stray{}, nil, err
	}
	defer m.site.close()
	before, err := m.survey()
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
	d, err := m.site.takeBack()
	if err != nil {
		return before, nil, forkbox.Wrap(opRestore, err)
	}
	after, err := m.survey()
	return after, d.torn, err
}

// DeleteStray removes a staging directory with all that is in it.
func DeleteStray(root *os.File, dir string, who forkbox.Owner) (Stray, error) {
	m, err := openStray(root, dir, who)
	if err != nil {
		return Stray{}, err
	}
	defer m.site.close()
	before, err := m.survey()
	if err == nil {
		err = m.who.Do(m.remove)
	}
	if refused(err) && who.UID == 0 {
		err = m.remove() // what others have in a directory of the owner's
	}
	return before, failed(opDelete, dir, err)
}

// remains is a staging directory in the tree that outlived its landing's own
// directory, and serves as that.
type remains struct {
	crew
	site *site
}

// openStray opens a staging directory as if it were the landing's own. It is
// found with the rights of who asks, and everything else is done with those of
// its owner: what it says is only as good as the one who could write it.
func openStray(root *os.File, dir string, who forkbox.Owner) (*remains, error) {
	if _, ok := strayID(dir); !ok || checkPath(dir) != nil {
		return nil, forkbox.Errorf(forkbox.Invalid, opFind, "%q is no absolute path of a directory .forkbox-ID", dir).
			Hint("forkbox doctor lists them")
	}
	lost, err := newSite(Config{Dir: dir, Root: root, Owner: actingFor(who)})
	if err != nil {
		return nil, err
	}
	m := &remains{crew: lost.crew, site: lost}
	m.yard.lieIn(dir)
	if err := m.open(who); err != nil {
		m.site.close()
		return nil, err
	}
	return m, nil
}

// actingFor is whose rights are needed: the process's own, or a user's.
func actingFor(who forkbox.Owner) *forkbox.Owner {
	if who.UID == 0 || os.Geteuid() != 0 {
		return nil
	}
	return &who
}

func (m *remains) open(who forkbox.Owner) error {
	var fd int
	err := m.who.Do(func() (err error) {
		fd, err = m.tree.Resolve(m.site.cfg.Dir[1:], unix.O_RDONLY|unix.O_DIRECTORY)
		return err
	})
	if err != nil {
		return forkbox.Errorf(forkbox.NotFound, opFind, "open %s: %w", m.site.cfg.Dir, err).Hint("forkbox doctor lists them")
	}
	m.site.dir = os.NewFile(uintptr(fd), m.site.cfg.Dir)
	o, err := files.Fstat(fd)
	if err != nil {
		return err
	}
	if int(o.UID) != who.UID && who.UID != 0 {
		return forkbox.Errorf(forkbox.Denied, opFind, "%s belongs to user %d", m.site.cfg.Dir, o.UID).Hint("ask them, or root")
	}
	if int(o.UID) != who.UID {
		if err := m.who.Change(actingFor(forkbox.Owner{UID: int(o.UID), GID: int(o.GID)})); err != nil {
			return err
		}
	}
	if err := m.site.readJournals(); err != nil {
		return damaged(m.site.cfg.Dir, err)
	}
	if err := m.checkPlan(); err != nil {
		return err
	}
	return m.yard.openPlaces()
}

// checkPlan: a journal that lay in the tree may have been written by the user
// who owns the directory.
func (m *remains) checkPlan() error {
	return m.plan.each(func(r *record) error {
		inPlace := r.Op != Attr || r.Inside
		switch {
		case inPlace && (!m.yard.has(r) || r.Slot == ""),
			checkPath(r.Path) != nil, r.Op == Move && (checkPath(r.From) != nil || r.Old == nil),
			r.Op == Put && r.New == nil, r.Op == Remove && r.Old == nil, r.Op == Attr && (r.Old == nil || r.New == nil):
			return damaged(m.site.cfg.Dir, nil)
		}
		return nil
	})
}

// survey looks at what a staging directory holds.
func (m *remains) survey() (Stray, error) {
	fd := int(m.site.dir.Fd())
	o, err := files.Fstat(fd)
	if err != nil {
		return Stray{}, err
	}
	id, _ := strayID(m.site.cfg.Dir)
	st := Stray{Dir: m.site.cfg.Dir, ID: id, UID: int(o.UID), Touched: m.plan.begun()}
	// One that cannot be read was cut off when it was written: nothing was
	// staged by then.
	if a, err := readAbout(fd); err == nil {
		st.Landing = a.Landing
	}
	if err := m.isStaging(fd, st); err != nil {
		return st, err
	}
	if st.Files, err = countFiles(fd); err != nil {
		return st, err
	}
	return st, m.who.Do(func() error {
		return m.plan.each(func(r *record) error { return m.countKept(&st, o.Ino, r) })
	})
}

// isStaging refuses what only has the name of a staging directory.
func (m *remains) isStaging(fd int, st Stray) error {
	ignore, err := files.Lstat(fd, ignoreFile)
	if err != nil || st.Landing != "" || ignore != nil && ignore.IsRegular() && ignore.Size == 2 {
		return err
	}
	if names, err := linux.List(fd); err != nil || !slices.ContainsFunc(names, isSlot) {
		return err
	}
	return forkbox.Errorf(forkbox.Invalid, opFind, "%s is not what an apply leaves behind", m.site.cfg.Dir)
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
func (m *remains) countKept(st *Stray, ino uint64, r *record) error {
	if r.Inside || r.Op == Attr || m.yard.of(r).Ino != ino || m.yard.lacks(r) {
		return nil
	}
	kept, err := m.keepsOld(r)
	if err != nil || !kept {
		return files.Gone(err)
	}
	if st.Kept++; len(st.Paths) < shownPaths {
		st.Paths = append(st.Paths, r.before())
	}
	return nil
}

// keepsOld says whether what a record displaced is in its slot: what is not
// what was staged.
func (m *remains) keepsOld(r *record) (bool, error) {
	p := m.yard.of(r)
	if r.Entrywise {
		found := false
		err := m.plan.eachPart(r, func(x *part) error {
			there, err := p.lookSlot(x.Slot)
			found = found || there != nil
			return err
		})
		return found, err
	}
	there, err := p.lookSlot(r.Slot)
	return there != nil && !there.Is(r.New), err
}

func (m *remains) remove() error {
	if err := files.RemoveIn(int(m.site.dir.Fd())); err != nil {
		return err
	}
	parent, err := m.yard.freshDir(path.Dir(m.site.cfg.Dir))
	if err != nil {
		return err
	}
	defer unix.Close(parent)
	was, err := files.Fstat(int(m.site.dir.Fd()))
	if err != nil {
		return err
	}
	if now, err := files.Lstat(parent, m.yard.name); err != nil || !now.Is(was) {
		return err
	}
	return files.Unlink(parent, m.yard.name, unix.AT_REMOVEDIR)
}
