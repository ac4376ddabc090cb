package land

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/linux"
)

// inspection goes through what a landing put and tells what is not as it was
// put: things that changed, and things in new directories that others made.
type inspection struct {
	*site
	slots   bool // look in the slots, not in the tree
	ownDirs bool // judge nothing in a directory that is not the one that was put
	dirs    []*newDir
	judge   func(*record, *left) (why string, err error)
	report  func(flip *record, p, why string)
}

// newDir is a directory that was put, while what was put into it comes by.
type newDir struct {
	put, flip *record // flip is the one that all of it landed with
	names     map[string]bool
	gone      bool // it is not where it is looked for, or another is there
}

func (in *inspection) run(lefts *journal) error {
	if err := eachLeft(in.plan.forward(0, in.plan.size), ahead(lefts), in.visit); err != nil {
		return err
	}
	return in.leave("")
}

func (in *inspection) visit(r *record, l *left) error {
	if err := in.leave(r.Path); err != nil {
		return err
	}
	flip, gone := r, false
	if n := len(in.dirs); n > 0 && r.Path != in.dirs[n-1].put.Path {
		in.dirs[n-1].names[path.Base(r.Path)] = true
		if r.Inside {
			flip, gone = in.dirs[n-1].flip, in.dirs[n-1].gone
		}
	}
	if !gone || !in.ownDirs {
		why, err := in.judge(r, l)
		if err != nil {
			return failed(opUndo, r.Path, err)
		}
		if why != "" {
			in.report(flip, r.Path, why)
		}
	}
	if r.Op == Put && r.New.isDir() {
		d := &newDir{put: r, flip: flip, names: map[string]bool{}, gone: gone}
		in.dirs = append(in.dirs, d)
		return in.enter(d)
	}
	return nil
}

// enter finds out whether a directory that was put is where it is looked for.
func (in *inspection) enter(d *newDir) error {
	if !in.ownDirs || d.gone {
		return nil
	}
	fd, err := in.openPut(d.put)
	d.gone = err == nil && fd < 0
	return failed(opUndo, d.put.Path, err)
}

// leave looks, in the directories that p is not in, for what was not put.
func (in *inspection) leave(p string) error {
	for n := len(in.dirs) - 1; n >= 0 && !forkbox.Within(p, in.dirs[n].put.Path); n-- {
		d := in.dirs[n]
		in.dirs = in.dirs[:n]
		if err := in.strangers(d); err != nil {
			return failed(opUndo, d.put.Path, err)
		}
	}
	return nil
}

func (in *inspection) strangers(d *newDir) error {
	fd, err := in.openPut(d.put)
	if err != nil || fd < 0 {
		return err
	}
	names, err := linux.List(fd)
	if errors.Is(err, unix.EACCES) || errors.Is(err, unix.ENOENT) {
		return nil // not ours to read, so nor to write; or just removed
	}
	for _, name := range names {
		if !d.names[name] {
			in.report(d.flip, join(d.put.Path, name), "it was made since")
		}
	}
	return err
}

// openPut opens a directory that was put, if it is still the same one.
func (in *inspection) openPut(r *record) (int, error) {
	var fd int
	var err error
	if in.slots {
		fd, err = in.places[r.Place].tree.dir("/" + r.Slot)
	} else {
		fd, err = in.tree.dir(r.Path)
	}
	for _, e := range []error{unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.EACCES} {
		if errors.Is(err, e) {
			return -1, nil
		}
	}
	if err != nil {
		return -1, err
	}
	now, err := fstat(fd)
	if err != nil || !now.is(r.New) {
		return -1, err
	}
	return fd, nil
}

// inspectLanded finds what must not be rolled back.
func (d *driver) inspectLanded() error {
	in := &inspection{site: d.site, ownDirs: true, report: d.leaveAlone}
	in.judge = func(r *record, _ *left) (string, error) {
		if !r.Inside {
			return "", nil // the rollback looks at it itself
		}
		return edited(r, &d.tree, r.Path)
	}
	return in.run(nil)
}

// inspectSlots looks again when what was landed is back in the slots, where
// nothing may be but what was staged: all of it is about to be removed.
func (d *driver) inspectSlots() error {
	in := &inspection{site: d.site, slots: true, ownDirs: true, report: d.leaveAlone}
	in.judge = func(r *record, _ *left) (string, error) {
		if !r.Inside && !r.flips() || d.skip[r.N] || d.places[r.Place].fd < 0 {
			return "", nil
		}
		return edited(r, &d.places[r.Place].tree, "/"+r.Slot)
	}
	return in.run(nil)
}

func (d *driver) leaveAlone(flip *record, p, why string) {
	d.leave(p, d.kept(flip, why))
	d.skip[flip.N] = true
}

// edited says whether something that was put is not as it was put. What is not
// there is not there yet, or no loss.
func edited(r *record, t *tree, p string) (string, error) {
	now, err := t.look(p)
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.EACCES) {
		return "", nil
	}
	switch {
	case err != nil || now == nil || r.New.asBefore(now) || r.Link != "" && r.New.is(now) && r.New.sameContent(now):
		return "", err
	case r.New.is(now):
		return "it was changed meanwhile", nil
	}
	return "it was replaced meanwhile", nil
}

// changedSince says whether what a landing left at a path is different now.
func (s *site) changedSince(r *record, l *left) (string, error) {
	return s.changedIn(&s.tree, r.Path, r, l)
}

// changedIn is changedSince wherever it is now. The inode's time tells fast
// that it is not, or where a rename has set that, the other time; when they
// differ, the content and the attributes decide.
func (s *site) changedIn(t *tree, p string, r *record, l *left) (string, error) {
	now, err := t.look(p)
	if errors.Is(err, unix.EACCES) && l.Now == nil {
		return "", nil // could not be looked at then, either
	}
	if err != nil {
		return "", err
	}
	switch {
	case now == nil && l.Now == nil:
		return "", nil
	case l.Now == nil:
		return "something is there again", nil
	case now == nil:
		return "it was deleted since", nil
	case now.Ino == l.Now.Ino && now.Ctime == l.Now.Ctime:
		return "", nil
	case now.format() != l.Now.format() || now.Rdev != l.Now.Rdev:
		return "it was replaced since", nil
	case !sameAttrs(now, l.Now):
		return "its mode or owner changed since", nil
	case t != &s.tree && l.Now.asBefore(now):
		return "", nil
	}
	return s.differentContent(t, p, r, now)
}

func (s *site) differentContent(t *tree, p string, r *record, now *object) (string, error) {
	dir, name, err := t.parent(p)
	if err != nil {
		return "", err
	}
	full, err := look(dir, name)
	if err != nil {
		return "", err
	}
	if r.New != nil && !sameXattrs(full.Xattrs, r.New.Xattrs) {
		return "its attributes changed since", nil
	}
	if !r.hasSum() {
		return "", nil
	}
	sum, _, err := sumOf(dir, name, now)
	if errors.Is(err, unix.EACCES) {
		return "it cannot be read to see whether it changed", nil
	}
	if err == nil && !bytes.Equal(sum, r.Sum) && !bytes.Equal(plainSum(dir, name, now), r.Sum) && !s.onlyRewritten(dir, name, r, now) {
		return "its content changed since", nil
	}
	return "", err
}

// maxRewritten is the largest file that is compared in parts.
const maxRewritten = 16 << 20

// onlyRewritten says whether a file has other bytes than those that landed, and
// says the same.
func (s *site) onlyRewritten(dir int, name string, r *record, now *object) (same bool) {
	if s.cfg.Rewritten == nil || !now.isRegular() || now.Size > maxRewritten {
		return false
	}
	asLanded := s.cfg.Rewritten(r.Path)
	if asLanded == nil {
		return false
	}
	fd, err := open(dir, name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY)
	if err != nil {
		return false
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxRewritten+1))
	if err != nil || len(content) > maxRewritten {
		return false
	}
	s.who.beside(func() { same = asLanded(content) }) // what landed is the daemon's to read
	return same
}
