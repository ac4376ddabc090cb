package change

import (
	"errors"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

// state says what is known of a path in the base.
type state int

const (
	missing state = iota
	present
	unknown // there, but not ours to look at
)

// entry is one path, as the box has it and as the base has it.
type entry struct {
	in       *place
	name     string
	path     string
	up, base file
	state    state
	baseDir  int // where base is: not in.base for a renamed directory
	baseName string
	hidden   bool // the box was not shown the base
	cover    bool // and this is the path that was hidden: it looked empty
}

// entry reports what changed at one name of a directory, and below it.
func (w *walker) entry(p *place, name string) error {
	e := &entry{in: p, name: name, path: join(p.path, name), baseDir: p.base, baseName: name}
	if err := w.upTo(e.path); err != nil || w.skipped(e.path, true) {
		return err
	}
	e.cover = !p.hidden && w.isHidden(p, name, e.path)
	e.hidden = p.hidden || e.cover
	up, err := lstat(p.upper, name)
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return w.unreadable(e, err)
	}
	gone := err != nil || w.whiteout(p, name, up)
	e.up = up
	if err := w.lookBase(e); err != nil {
		return err
	}
	switch {
	case gone && err != nil && !p.opaque:
		return nil // it vanished while we were looking
	case gone:
		return w.gone(e)
	case up.isDir():
		return w.dir(e)
	}
	return w.leaf(e)
}

// isHidden says whether the box saw nothing at a path. In a renamed directory
// that is decided by where the base lies: a move must not reveal it.
func (w *walker) isHidden(p *place, name, path string) bool {
	return w.hidden[path] || p.moved && w.hidden[w.fromPath(originOf(p.origin, name))]
}

// whiteout says whether a file in the upper marks a deletion.
func (w *walker) whiteout(p *place, name string, up file) bool {
	if up.isWhiteout() {
		return true
	}
	if !p.marked || !up.isRegular() || up.Size != 0 {
		return false
	}
	_, ok := xattr(p.upper, name, w.src.XattrPrefix+"whiteout")
	return ok
}

func (w *walker) lookBase(e *entry) error {
	if e.in.unknown {
		e.state = unknown
	}
	if e.in.base == none {
		return nil
	}
	w.effort.lookups++
	base, err := lstat(e.in.base, e.name)
	switch {
	case err == nil:
		e.base, e.state = base, present
	case fatal(err):
		return err
	case errors.Is(err, unix.EACCES):
		e.state = unknown
	}
	return nil
}

// gone reports what the box deleted. What the box was not shown it did not
// delete, and what was moved away is reported where it is now.
func (w *walker) gone(e *entry) error {
	if e.state != present || e.hidden {
		return nil
	}
	if moved, err := w.movedAway(e); moved || err != nil {
		return err
	}
	return w.deleted(e)
}

func (w *walker) deleted(e *entry) error {
	t, err := w.count(e)
	if err != nil {
		return err
	}
	c := w.change(e, forkbox.Deleted)
	c.Type, c.Size, c.OldSize, c.Entries = e.base.kind(), t.bytes, 0, t.entries
	c.Mode, c.OldMode = 0, e.base.mode()
	c.ModTime = e.base.modTime()
	return w.yield(c)
}

// unreadable reports a path that cannot be compared: saying too much is
// better than hiding what may be a change.
func (w *walker) unreadable(e *entry, err error) error {
	if fatal(err) {
		return err
	}
	if e.state == missing && e.up.Stat_t.Mode != 0 {
		return w.emit(e, forkbox.Added)
	}
	return w.emit(e, forkbox.Modified)
}

func (w *walker) emit(e *entry, kind forkbox.Kind) error {
	return w.yield(w.change(e, kind))
}

func (w *walker) change(e *entry, kind forkbox.Kind) forkbox.Change {
	c := forkbox.Change{Path: e.path, Kind: kind, Hidden: e.hidden}
	if !utf8.ValidString(e.path) {
		c.PathBytes = []byte(e.path)
	}
	if e.up.Stat_t.Mode != 0 {
		c.Type, c.Size, c.Mode, c.ModTime = e.up.kind(), e.up.bytes(), e.up.mode(), e.up.modTime()
	}
	if e.state == present && !e.hidden {
		c.OldSize, c.OldMode = e.base.bytes(), e.base.mode()
	}
	return c
}
