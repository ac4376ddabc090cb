package review

import (
	"github.com/forkbox/forkbox"
)

// closed knows, while what is below a directory is listed in path order, which
// directories the box's owner may not look into. To move one takes no right to it.
type closed struct {
	view *View
	dir  string // the one that the listing is in, or was in last
}

func (v *View) newClosed(e *Entry) *closed {
	c := &closed{view: v}
	if old, err := e.Sides.Old(); err == nil {
		c.has(e.Path, old)
	}
	return c
}

// has says whether something lies in such a directory.
func (c *closed) has(p string, n forkbox.Node) bool {
	if c.dir != "" && p != c.dir && forkbox.Within(p, c.dir) {
		return true
	}
	if n.Mode.IsDir() && !c.view.mayLook(n.Mode, n.UID, n.GID, 0o5) {
		c.dir = p
	}
	return false
}
