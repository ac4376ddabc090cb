package land

import (
	"path"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox/internal/linux"
	"github.com/forkbox/forkbox/internal/storage/land/files"
)

// plans writes down the parts of all such directories. That is done when all
// items are known: what is moved out of a directory is no part of it.
func (l *Landing) planParts() error {
	err := l.plan.eachWith(isEntrywise, func(r *record) error {
		var found Tally
		err := l.plan.addParts(r, func() error { return l.planPart(r, r.At, "", &found) })
		if err != nil {
			return failed(opLand, r.Path, err)
		}
		if r.flips() && found != l.witness.expected(r) {
			return conflict(opLand, r.Path, "it changed meanwhile")
		}
		return nil
	})
	if err != nil {
		return err
	}
	return l.plan.flush()
}

func (l *Landing) planPart(r *record, top, rel string, found *Tally) error {
	p := path.Join(top, rel)
	if rel != "" && l.movesAway(p) {
		return nil
	}
	h, err := l.hand.openAt(p)
	if err != nil {
		return err
	}
	o, err := files.Fstat(h.Fd)
	if err == nil && o.IsDir() {
		o.Xattrs = h.Xattrs()
	}
	unix.Close(h.Fd)
	if err != nil {
		return err
	}
	if rel != "" {
		found.Add(rel, o.Node())
	}
	slot := r.Slot + "." + strconv.FormatUint(found.Count+1, 10)
	if err := l.plan.addPart(part{r.N, rel, slot, o}); err != nil || !o.IsDir() {
		return err
	}
	dir, err := l.tree.Dir(p)
	if err != nil {
		return err
	}
	names, err := linux.List(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := l.planPart(r, top, path.Join(rel, name), found); err != nil {
			return err
		}
	}
	return nil
}

func (l *Landing) movesAway(p string) bool {
	for _, m := range l.moves {
		if m.From == p {
			return true
		}
	}
	return false
}

// evacuate moves what is in a directory to slots, deepest first. A directory
// is removed when it is empty, and an empty one in its slot stands for it: so
// the slot of everything that was evacuated is taken, whatever else may be
// where it was. It can be repeated. check says why something may not be moved.
func (h *hand) evacuate(r *record, top string, check func(*part, *files.Object) string) error {
	defer h.tree.Forget()
	return h.plan.eachPartBack(r, func(p *part) error {
		to, slot, err := h.yard.of(r).slot(p.Slot)
		if err != nil {
			return err
		}
		if there, err := files.Lstat(to, slot); err != nil || there != nil {
			return err
		}
		return h.evacuatePart(p, path.Join(top, p.Rel), end{dir: to, name: slot}, check)
	})
}

func (h *hand) evacuatePart(p *part, from string, to end, check func(*part, *files.Object) string) error {
	now, err := h.tree.Look(from)
	if err != nil {
		return err
	}
	if why := check(p, now); why != "" {
		return conflict(opLand, from, why)
	}
	if p.Obj.IsDir() {
		return h.vacateDir(from, now, to)
	}
	if now == nil {
		return nil
	}
	return h.vacate(from, now, to)
}

// vacate moves one file to its slot.
func (h *hand) vacate(from string, now *files.Object, to end) error {
	dir, name, err := h.tree.Parent(from)
	if err != nil {
		return err
	}
	if err := files.Rename(dir, name, to.dir, to.name, unix.RENAME_NOREPLACE); err != nil {
		return err
	}
	came, err := files.Lstat(to.dir, to.name)
	if err == nil && (came == nil || !now.SameContent(came)) {
		return conflict(opLand, from, "it changed at the very moment")
	}
	return err
}

// vacateDir removes an empty directory. What will stand for it is made first,
// under another name: while that is there, a crash came in between.
func (h *hand) vacateDir(from string, now *files.Object, to end) error {
	if err := files.Mkdir(to.dir, to.name+leaving); err != nil && err != unix.EEXIST {
		return err
	}
	if now != nil {
		dir, name, err := h.tree.Parent(from)
		if err == nil {
			err = h.removeEmpty(dir, name, from)
		}
		if err != nil {
			return err
		}
	}
	return files.Rename(to.dir, to.name+leaving, to.dir, to.name, unix.RENAME_NOREPLACE)
}

const leaving = ".leaving"

// planned is the check of a landing: only what was there when it was planned
// may be moved.
func (h *hand) planned(r *record) func(*part, *files.Object) string {
	return func(p *part, now *files.Object) string { return h.changed(r, now, p.Obj, false) }
}

func (h *hand) removeEmpty(dir int, name, p string) error {
	err := files.Unlink(dir, name, unix.AT_REMOVEDIR)
	if err == unix.ENOTEMPTY || err == unix.EEXIST {
		return conflict(opLand, p, "something new is in it")
	}
	h.tree.Forget()
	return err
}

// populate is the inverse of evacuate: it makes the directories again and
// moves what was in them there. It can be repeated.
func (h *hand) populate(r *record, top string) error {
	defer h.tree.Forget()
	return h.plan.eachPart(r, func(p *part) error {
		return h.populatePart(r, p, path.Join(top, p.Rel))
	})
}

func (h *hand) populatePart(r *record, p *part, to string) error {
	from, slot, err := h.yard.of(r).slot(p.Slot)
	if err != nil {
		return err
	}
	there, err := files.Lstat(from, slot)
	if err != nil {
		return err
	}
	dir, name, err := h.tree.Parent(to)
	if err != nil && there == nil {
		return files.Gone(err)
	}
	if err != nil {
		return err
	}
	if p.Obj.IsDir() {
		there, err = h.standIn(end{from, slot, there}, end{dir: dir, name: name}, p.Obj)
	}
	if err != nil || there == nil {
		return err // it is not in the slot: it never left, or is elsewhere
	}
	return carry(end{from, slot, p.Obj}, end{dir: dir, name: name}, unix.RENAME_NOREPLACE)
}

// standIn makes of the directory that stands for another the one that it
// stands for, still in the slot; nil says that there is none.
func (h *hand) standIn(slot, to end, o *files.Object) (*files.Object, error) {
	if slot.obj == nil {
		half, err := files.Lstat(slot.dir, slot.name+leaving)
		if err != nil || half == nil {
			return nil, err
		}
		if now, err := files.Lstat(to.dir, to.name); err != nil || now != nil {
			return nil, besides(err, files.Unlink(slot.dir, slot.name+leaving, unix.AT_REMOVEDIR))
		}
		if err := files.Rename(slot.dir, slot.name+leaving, slot.dir, slot.name, unix.RENAME_NOREPLACE); err != nil {
			return nil, err
		}
	}
	return o, makeAgain(slot.dir, slot.name, o)
}

// isOut says whether all that a record moves has left where it was, so that
// what is at the other end is ours.
func (h *hand) isOut(r *record) (bool, error) {
	o, err := h.yard.of(r).lookSlot(r.Slot + outToken)
	return o != nil, err
}

// setOut makes the token that isOut looks for, or removes it.
func (h *hand) setOut(r *record, out bool) error {
	dir, name, err := h.yard.of(r).slot(r.Slot + outToken)
	if err != nil {
		return err
	}
	if out {
		err = files.Mkdir(dir, name)
	} else {
		err = files.Unlink(dir, name, unix.AT_REMOVEDIR)
	}
	if err == unix.EEXIST || err == unix.ENOENT {
		return nil
	}
	return err
}

const outToken = ".out"

// makeAgain gives a directory in a slot all the attributes of another.
func makeAgain(dir int, slot string, o *files.Object) error {
	fd, err := files.Open(dir, slot, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return files.Handle{Fd: fd}.Become("", o)
}
