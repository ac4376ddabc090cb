package change

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

// compareAttrs finds which attributes differ from the base. Times are not
// among them: copying up alone does not keep all of them.
func (h *hand) compareAttrs(e *entry) {
	h.compareModes(e)
	if !h.sameXattrs(e) {
		e.differ = append(e.differ, "xattr")
	}
}

// compareModes compares what lstat tells.
func (h *hand) compareModes(e *entry) {
	e.differ = nil
	if e.permDiffers() {
		e.differ = append(e.differ, "mode")
	}
	if h.w.ownerDiffers(e) {
		e.differ = append(e.differ, "owner")
	}
}

// permDiffers: a symlink has no permissions, whatever lstat says.
func (e *entry) permDiffers() bool {
	symlink := e.up.format() == unix.S_IFLNK || e.base.format() == unix.S_IFLNK
	return !symlink && e.up.perm() != e.base.perm()
}

func (w *walker) ownerDiffers(e *entry) bool {
	return !w.src.IgnoreOwner && (e.up.Uid != e.base.Uid || e.up.Gid != e.base.Gid)
}

// describe adds to c which attributes differ, where there are two to compare.
func (w *walker) describe(c *forkbox.Change, e *entry) {
	if e.gone || e.hidden || e.state != present || e.up.Stat_t.Mode == 0 {
		return
	}
	c.Attrs = e.differ
	if w.ownerDiffers(e) {
		c.Owner, c.OldOwner = e.up.owner(), e.base.owner()
	}
}

func (f file) owner() string { return fmt.Sprintf("%d:%d", f.Uid, f.Gid) }
