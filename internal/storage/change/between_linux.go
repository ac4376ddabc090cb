package change

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/linux"
)

// between goes through two trees side by side: the old one in the place of the
// base, the new one in that of the upper. There are no marks of overlayfs in
// either, for both are seen through it.
func between(ctx context.Context, t Trees, yield Yield) error {
	src := Source{XattrPrefix: "trusted.overlay.", Skip: isNotFile, Reader: t.Reader}
	w := newWalker(ctx, src, yield)
	w.trees = true
	w.reader.begin(int(t.Old.Fd()))
	w.reader.begin(int(t.New.Fd()))
	w.since = t.Since
	w.moves = &moves{mount: "/", base: none, found: map[string]string{}}
	last, whole := "", false
	for p := range t.Paths {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !path.IsAbs(p.Name) || path.Clean(p.Name) != p.Name {
			return forkbox.Errorf(forkbox.Invalid, "compare the boxes", "%q is not a clean absolute path", p.Name)
		}
		if p.Name == last || whole && forkbox.Within(p.Name, last) {
			continue // told already
		}
		var err error
		if whole, err = w.pathIn(t, p); err != nil {
			return err
		}
		last = p.Name
	}
	return nil
}

// pathIn compares one path. whole is true when that took in all below it.
func (w *walker) pathIn(t Trees, p Path) (whole bool, err error) {
	dir, name := path.Split(p.Name)
	if name == "" {
		name = "."
	}
	in := &place{path: path.Clean(dir), origin: strings.Trim(dir, "/"), ground: none}
	if in.base, err = parent(t.Old.Fd(), in); err != nil {
		return false, err
	}
	defer func() { closeDir(in.base) }()
	upper, err := parent(t.New.Fd(), in)
	if err != nil {
		return false, err
	}
	defer closeDir(upper)
	in.hold(upper)
	return w.both(in, name, p.Deep)
}

// parent opens the directory of a path; where a tree has a symlink or nothing
// on the way, it does not have the path.
func parent(root uintptr, in *place) (int, error) {
	name := in.origin
	if name == "" {
		name = "."
	}
	fd, err := openPath(int(root), name)
	if err != nil {
		return none, keepFatal(err)
	}
	return fd, nil
}

// both compares one name of two directories.
func (w *walker) both(p *place, name string, deep bool) (whole bool, err error) {
	e := &entry{w: w, in: p, dir: p.top(), name: name, path: join(p.path, name), baseDir: p.base, baseName: name}
	if name == "." {
		e.path = p.path
	}
	if w.skipped(e.path, false) {
		return true, nil
	}
	w.lookers.first().look(e)
	absent := isAbsent(e.upErr)
	switch {
	case e.err != nil:
		return false, e.err
	case e.upErr != nil && !absent:
		return false, w.unreadable(e, e.upErr)
	case absent && e.state == unknown:
		return true, w.unreadable(e, unix.EACCES)
	case absent && e.state == missing:
		return true, nil // neither has it
	case absent:
		return true, w.deleted(e)
	case e.up.isDir():
		return w.bothDirs(e, deep)
	}
	return true, w.leaf(e)
}

func isAbsent(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR)
}

// bothDirs compares a directory of the new tree with what the old one has
// there.
func (w *walker) bothDirs(e *entry, deep bool) (whole bool, err error) {
	one := e.state != present || !e.base.isDir() // nothing to compare with below
	sub := &place{path: e.path, base: none, ground: none, origin: strings.Trim(e.path, "/"), depth: e.in.depth + 1}
	if one || deep {
		upper, err := openDir(e.dir, e.name, beneath)
		if err != nil {
			return true, w.unreadable(e, err)
		}
		defer unix.Close(upper)
		sub.hold(upper)
	}
	if err := w.dirBetween(e); err != nil || e.state == unknown {
		return true, err
	}
	if sub.top() == none {
		return false, nil
	}
	if !one {
		if sub.base, err = openPath(e.baseDir, e.baseName); err != nil && !isAbsent(err) {
			return true, err
		}
		defer func() { closeDir(sub.base) }()
	}
	if !w.reader.lists(sub.top()) || sub.base != none && !w.reader.lists(sub.base) {
		return true, nil // what is in it is not told
	}
	return true, w.everything(sub)
}

func (w *walker) dirBetween(e *entry) error {
	switch {
	case e.state == missing:
		return w.emit(e, forkbox.Added)
	case e.state == unknown:
		return w.emit(e, forkbox.Modified)
	case !e.base.isDir():
		return w.emit(e, forkbox.Type)
	case len(e.differ) > 0:
		return w.emit(e, forkbox.Mode)
	}
	return nil
}

// everything compares all that is in two directories.
func (w *walker) everything(p *place) error {
	if p.depth > maxDepth {
		return forkbox.Errorf(forkbox.Unsupported, "compare the boxes", "directories are nested more than %d deep in %.80q…", maxDepth, p.path)
	}
	names, err := linux.Names(p.top())
	if err != nil {
		return err
	}
	if p.base != none {
		old, err := w.listBase(p.base, 0)
		if err != nil {
			return err
		}
		names = append(names, old...)
		slices.Sort(names)
		names = slices.Compact(names)
	}
	for _, name := range names {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		if _, err := w.both(p, name, true); err != nil {
			return err
		}
	}
	return nil
}

// untouched says that two trees show the very same file of what both were
// forked from. Whatever is done to a file in a box sets the time of its inode,
// which no process can set back. The device does not count: it is the overlay's.
func (w *walker) untouched(e *entry) bool {
	return !w.since.IsZero() && e.up.Ino == e.base.Ino && e.up.Size == e.base.Size &&
		e.up.Ctim == e.base.Ctim && e.up.Ctim.Nano() < w.since.UnixNano()
}
