package change

import (
	"path"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

// leaf reports a change of anything that is not a directory in the box.
func (w *walker) leaf(e *entry) error {
	kind, err := w.judge(e)
	if err != nil {
		return err
	}
	link := w.links.link(e, kind != "")
	switch {
	case kind == "" && link == "":
		return nil // put back as it was
	case kind == "":
		kind = forkbox.Linked
	}
	c := w.change(e, kind)
	c.Link = link
	if err := w.countReplaced(&c, e); err != nil {
		return err
	}
	return w.yield(c, e)
}

// judge says how a file differs from the base, if it does.
func (w *walker) judge(e *entry) (forkbox.Kind, error) {
	if e.cover && e.state == present {
		return judgeCover(e), nil
	}
	if moved, err := w.movedAway(e); err != nil {
		return "", err
	} else if moved {
		e.state = missing
	}
	switch {
	case e.state == missing:
		return forkbox.Added, nil
	case e.state == unknown:
		return forkbox.Modified, nil
	case e.up.format() != e.base.format():
		return forkbox.Type, nil
	}
	same, err := w.sameContent(e)
	switch {
	case err != nil:
		return "", err
	case !same:
		return forkbox.Modified, nil
	case len(e.differ) > 0:
		return forkbox.Mode, nil
	}
	return "", nil
}

// judgeCover is for a file that the box saw empty. The empty file itself is
// how it was hidden.
func judgeCover(e *entry) forkbox.Kind {
	switch {
	case e.up.isRegular() && e.up.Size == 0:
		return ""
	case e.up.format() != e.base.format():
		return forkbox.Type
	}
	return forkbox.Modified
}

// countReplaced: when a path was a directory and is something else now, all
// that was below it is gone, and counted.
func (w *walker) countReplaced(c *forkbox.Change, e *entry) error {
	if c.Kind != forkbox.Type || !e.base.isDir() || e.hidden {
		return nil
	}
	t, err := w.count(e)
	c.OldSize, c.Entries, c.MovedOut = t.bytes, t.entries, e.countMovedOut()
	return err
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
	if e.content == undecided {
		return w.sameAsOrigin(e)
	}
	return e.content == same, nil
}

// sameAsOrigin is for a file of which only the attributes were copied up. Its
// content is the base's, at the same path unless the file was moved.
func (w *walker) sameAsOrigin(e *entry) (bool, error) {
	origin, ok := redirect(e.dir, e.name, e.in.origin, w.src.XattrPrefix)
	if !ok {
		return true, nil
	}
	dir, err := openPath(w.moves.base, path.Dir(origin))
	if err != nil {
		return false, keepFatal(err)
	}
	defer unix.Close(dir)
	return w.lookers.first().same(dir, path.Base(origin), e.baseDir, e.baseName, e.comparable)
}

// sameTarget compares symlinks, which are never followed.
func sameTarget(e *entry) bool {
	var a, b [unix.PathMax]byte
	n, err := unix.Readlinkat(e.dir, e.name, a[:])
	if err != nil {
		return false
	}
	m, err := unix.Readlinkat(e.baseDir, e.baseName, b[:])
	return err == nil && string(a[:n]) == string(b[:m])
}
