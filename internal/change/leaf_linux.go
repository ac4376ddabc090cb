package change

import (
	"path"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

// leaf reports a change of anything that is not a directory in the box.
func (w *walker) leaf(e *entry) error {
	if e.cover && e.state == present {
		return w.coverFile(e)
	}
	if moved, err := w.movedAway(e); err != nil {
		return err
	} else if moved {
		e.state = missing
	}
	switch {
	case e.state == missing:
		return w.emit(e, forkbox.Added)
	case e.state == unknown:
		return w.emit(e, forkbox.Modified)
	case e.up.format() != e.base.format():
		return w.typeChange(e)
	}
	same, err := w.sameContent(e)
	switch {
	case err != nil:
		return err
	case !same:
		return w.emit(e, forkbox.Modified)
	case !w.sameMeta(e):
		return w.emit(e, forkbox.Mode)
	}
	return nil // put back as it was
}

// coverFile reports a write to a file that the box saw empty. The empty file
// itself is how it was hidden.
func (w *walker) coverFile(e *entry) error {
	switch {
	case e.up.isRegular() && e.up.Size == 0:
		return nil
	case e.up.format() != e.base.format():
		return w.emit(e, forkbox.Type)
	}
	return w.emit(e, forkbox.Modified)
}

// typeChange reports a path that is something else now. When it was a
// directory, all that was below it is gone, and counted.
func (w *walker) typeChange(e *entry) error {
	c := w.change(e, forkbox.Type)
	if e.base.isDir() && !e.hidden {
		t, err := w.count(e)
		if err != nil {
			return err
		}
		c.OldSize, c.Entries = t.bytes, t.entries
	}
	return w.yield(c)
}

// sameContent compares what the two hold. What cannot be read counts as
// different.
func (w *walker) sameContent(e *entry) (bool, error) {
	switch e.up.format() {
	case unix.S_IFREG:
		return w.sameFile(e)
	case unix.S_IFLNK:
		return sameTarget(e), nil
	case unix.S_IFCHR, unix.S_IFBLK:
		return e.up.Rdev == e.base.Rdev, nil
	}
	return true, nil
}

func (w *walker) sameFile(e *entry) (bool, error) {
	if e.up.Size != e.base.Size {
		return false, nil
	}
	if e.up.Size == 0 {
		return true, nil
	}
	if _, ok := xattr(e.in.upper, e.name, w.src.XattrPrefix+"metacopy"); ok {
		return w.sameAsOrigin(e)
	}
	same, ok, err := w.same(e.in.upper, e.name, e.baseDir, e.baseName)
	return same && ok, err
}

// sameAsOrigin is for a file of which only the attributes were copied up. Its
// content is the base's, at the same path unless the file was moved.
func (w *walker) sameAsOrigin(e *entry) (bool, error) {
	origin, ok := redirect(e.in.upper, e.name, e.in.origin, w.src.XattrPrefix)
	if !ok {
		return true, nil
	}
	dir, err := openPath(w.moves.base, path.Dir(origin))
	if err != nil {
		return false, keepFatal(err)
	}
	defer unix.Close(dir)
	same, ok, err := w.same(dir, path.Base(origin), e.baseDir, e.baseName)
	return same && ok, err
}

// sameTarget compares symlinks, which are never followed.
func sameTarget(e *entry) bool {
	var a, b [unix.PathMax]byte
	n, err := unix.Readlinkat(e.in.upper, e.name, a[:])
	if err != nil {
		return false
	}
	m, err := unix.Readlinkat(e.baseDir, e.baseName, b[:])
	return err == nil && string(a[:n]) == string(b[:m])
}

// sameMeta compares permissions, owner and extended attributes. Times are not
// a change: copying up alone does not keep all of them.
func (w *walker) sameMeta(e *entry) bool {
	if e.up.perm() != e.base.perm() {
		return false
	}
	if !w.src.IgnoreOwner && (e.up.Uid != e.base.Uid || e.up.Gid != e.base.Gid) {
		return false
	}
	return w.sameXattrs(e)
}
