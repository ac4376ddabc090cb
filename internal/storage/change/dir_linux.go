package change

import (
	"errors"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

// dir reports a directory of the box and what is below it.
func (w *walker) dir(e *entry) error {
	t, err := w.moves.stack.find(e.in.parts, e.owners, e.name)
	if err != nil {
		return w.unreadable(e, err)
	}
	defer closeParts(t.parts)
	if len(t.parts) == 0 {
		return nil // it vanished while we were looking
	}
	sub := &place{path: e.path, parts: t.parts, base: none, ground: e.in.ground, origin: originOf(e.in.origin, e.name), depth: e.in.depth + 1, hidden: e.hidden, moved: e.in.moved, covered: e.in.covered}
	from, shows := t.origin(e.in.origin, e.in.opaque)
	sub.opaque = !shows
	if !searchable(t.parts) {
		return w.unreadable(e, unix.EACCES)
	}
	if err := w.affordable(sub); err != nil {
		return err
	}
	defer func() { closeDir(sub.base) }()
	if from == sub.origin && (e.in.base != none || !t.far()) {
		// Never moved, or moved and moved back. Not so where the directory
		// that it lies in was itself moved away, and another is in its place.
		from = ""
	}
	if err := w.dirItself(e, sub, from); err != nil {
		return err
	}
	if sub.base != none {
		sub.ground = sub.base
	}
	return w.walk(sub)
}

// dirItself reports what changed of the directory, and finds the directory of
// the base that belongs to sub. from is where it was moved from, if it was.
func (w *walker) dirItself(e *entry, sub *place, from string) error {
	switch {
	case e.hidden:
		return w.hiddenDir(e)
	case from != "":
		if done, err := w.renamed(e, sub, from); done || err != nil {
			return err
		}
	case sub.opaque:
		if moved, err := w.movedAway(e); err != nil {
			return err
		} else if moved {
			e.state = missing
		}
	}
	switch {
	case e.state == missing:
		return w.emit(e, forkbox.Added)
	case e.state == unknown:
		sub.unknown = true
		return w.emit(e, forkbox.Modified)
	case !e.base.isDir():
		return w.emit(e, forkbox.Type) // it was no directory, so nothing was below
	}
	return w.sameDir(e, sub)
}

// hiddenDir: the box saw an empty directory, so everything in it is new. The
// directory itself is how it was hidden.
func (w *walker) hiddenDir(e *entry) error {
	switch {
	case e.state != present:
		return w.emit(e, forkbox.Added)
	case !e.base.isDir():
		return w.emit(e, forkbox.Type)
	}
	return nil
}

// sameDir is for a directory that is one in the base as well.
func (w *walker) sameDir(e *entry, sub *place) error {
	base, err := openPath(e.baseDir, e.baseName)
	if err != nil && !errors.Is(err, unix.ENOENT) {
		sub.unknown = true
	}
	if err == nil {
		sub.base = base
		w.lookForMount(e, sub)
	}
	if fatal(err) {
		return err
	}
	if len(e.differ) == 0 {
		return nil
	}
	return w.emit(e, forkbox.Mode)
}

// lookForMount notices a filesystem that was mounted since the box wrote here.
func (w *walker) lookForMount(e *entry, sub *place) {
	if sub.covered == "" && !w.wasMounted(e.path) && isMountPoint(e.baseDir, e.baseName) {
		sub.covered = e.path
	}
}

// wasMounted says whether a mount point was one when the box began: then it has
// an upper of its own for it or, without root, for what is below it, where
// something else was mounted.
func (w *walker) wasMounted(path string) bool {
	return w.mounts[path] || slices.ContainsFunc(w.src.Uppers, func(u Upper) bool { return strings.HasPrefix(u.Mount, path+"/") })
}

// renamed reports a directory that was moved here as a whole, with what lay
// here before, for that is lost. What is below it is then compared with the
// base at the old path.
func (w *walker) renamed(e *entry, sub *place, origin string) (bool, error) {
	if w.below(w.fromPath(origin)) {
		return false, nil
	}
	from := *e
	from.from = origin
	base, err := openPath(w.moves.base, origin)
	if err != nil {
		return true, w.sourceless(&from, sub, err)
	}
	lost := *e
	lost.movedHere = w.fromPath(origin)
	if err := w.gone(&lost); err != nil {
		closeDir(base)
		return true, err
	}
	sub.base, sub.origin, sub.moved = base, origin, true
	from.state, from.baseDir, from.baseName = present, base, "."
	if from.base, err = lstat(base, "."); err != nil {
		return true, err
	}
	w.lookers.first().compareAttrs(&from)
	c := w.change(&from, forkbox.Renamed)
	c.From = w.fromPath(origin)
	return true, w.yield(c, &from)
}

// sourceless reports a directory that was moved here and that reality has moved
// or deleted since. The box shows none of it any more, and that is no deletion
// of what was in it: it is told as moved, from what is not there.
func (w *walker) sourceless(e *entry, sub *place, err error) error {
	if err := keepFatal(err); err != nil {
		return err
	}
	sub.moved = true
	e.state, e.differ = missing, nil
	c := w.change(e, forkbox.Renamed)
	c.From = w.fromPath(e.from)
	return w.yield(c, e)
}

// searchable says whether names in the directory can be looked at. A rootless
// box may have left one that can be listed and no more.
func searchable(parts []part) bool {
	for _, p := range parts {
		if _, err := lstat(p.dir, "."); err != nil {
			return false
		}
	}
	return true
}
