package land

import (
	"errors"
	"path"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/linux"
	"github.com/forkbox/forkbox/internal/storage/land/files"
)

// inspection goes through what a landing put and tells what is not as it was
// put: things that changed, and things in new directories that others made.
type inspection struct {
	crew
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
	if err := in.plan.eachLeft(lefts, in.visit); err != nil {
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
	if r.Op == Put && r.New.IsDir() {
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
		fd, err = in.yard.of(r).tree.Dir("/" + r.Slot)
	} else {
		fd, err = in.tree.Dir(r.Path)
	}
	for _, e := range []error{unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.EACCES} {
		if errors.Is(err, e) {
			return -1, nil
		}
	}
	if err != nil {
		return -1, err
	}
	now, err := files.Fstat(fd)
	if err != nil || !now.Is(r.New) {
		return -1, err
	}
	return fd, nil
}

// inspectLanded finds what must not be rolled back.
func (d *driver) inspectLanded() error {
	in := &inspection{crew: d.crew, ownDirs: true, report: d.leaveAlone}
	in.judge = func(r *record, _ *left) (string, error) {
		if !r.Inside {
			return "", nil // the rollback looks at it itself
		}
		return edited(r, d.tree, r.Path)
	}
	return in.run(nil)
}

// inspectSlots looks again when what was landed is back in the slots, where
// nothing may be but what was staged: all of it is about to be removed.
func (d *driver) inspectSlots() error {
	in := &inspection{crew: d.crew, slots: true, ownDirs: true, report: d.leaveAlone}
	in.judge = func(r *record, _ *left) (string, error) {
		if !r.Inside && !r.flips() || d.skip[r.N] || d.yard.lacks(r) {
			return "", nil
		}
		return edited(r, &d.yard.of(r).tree, "/"+r.Slot)
	}
	return in.run(nil)
}

func (d *driver) leaveAlone(flip *record, p, why string) {
	d.leave(p, d.kept(flip, why))
	d.skip[flip.N] = true
}

// edited says whether something that was put is not as it was put. What is not
// there is not there yet, or no loss.
func edited(r *record, t *files.Tree, p string) (string, error) {
	now, err := t.Look(p)
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.EACCES) {
		return "", nil
	}
	switch {
	case err != nil || now == nil || r.New.AsBefore(now) || r.Link != "" && r.New.Is(now) && r.New.SameContent(now):
		return "", err
	case r.New.Is(now):
		return "it was changed meanwhile", nil
	}
	return "it was replaced meanwhile", nil
}
