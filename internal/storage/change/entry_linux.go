package change

import (
	"unicode/utf8"

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
	w        *walker
	in       *place
	dir      int   // where up is: the topmost of in.parts that has it
	owners   []int // which of in.parts have it, where there are several
	marked   bool  // up may be marked as a whiteout by an attribute
	name     string
	path     string
	up, base file
	state    state
	baseDir  int // where base is: not in.base for a renamed directory
	baseName string
	from     string // where base lies, of a renamed directory
	// movedHere is where the directory comes from, in the machine, that the
	// box moved into the place of what it lost here.
	movedHere string
	gone      bool // the box has nothing here
	hidden    bool // the box was not shown the base
	cover     bool // and this is the path that was hidden: it looked empty
	skipped   bool // another filesystem's, or left out

	upErr    error    // why up is not known
	err      error    // the machine failed
	differ   []string // which attributes differ
	metacopy bool     // only the attributes were copied up
	content  verdict
}

// origin is where base lies, from the root of its filesystem.
func (e *entry) origin() string {
	if e.from != "" {
		return e.from
	}
	return originOf(e.in.origin, e.name)
}

// entry reports what changed at one name of a directory, and below it.
func (w *walker) entry(e *entry) error {
	if err := w.upTo(e.path); err != nil || e.skipped {
		return err
	}
	if w.found != nil {
		return w.scout(e)
	}
	absent := isAbsent(e.upErr)
	switch {
	case e.err != nil:
		return e.err
	case e.upErr != nil && !absent:
		return w.unreadable(e, e.upErr)
	case absent && !e.in.opaque:
		return nil // it vanished while we were looking
	case absent || w.whiteout(e):
		return w.gone(e)
	case e.up.isDir():
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
func (w *walker) whiteout(e *entry) bool {
	if e.up.isWhiteout() {
		return true
	}
	return e.marked && isMarked(e.dir, e.name, e.up, w.src.XattrPrefix)
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
	if w.found != nil {
		return w.noteBelow(e)
	}
	t, err := w.count(e)
	if err != nil {
		return err
	}
	lost := *e // where something was moved in its place, e has more to tell
	lost.gone = true
	c := w.change(&lost, forkbox.Deleted)
	c.Type, c.Size, c.OldSize, c.Entries = e.base.kind(), t.bytes, 0, t.entries
	c.MovedOut = e.countMovedOut()
	c.Mode, c.OldMode = 0, e.base.mode()
	c.ModTime = e.base.modTime()
	return w.yield(c, &lost)
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
	return w.yield(w.change(e, kind), e)
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
	w.describe(&c, e)
	return c
}
