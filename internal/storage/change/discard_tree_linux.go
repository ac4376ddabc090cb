package change

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/linux"
)

// copyTree makes a directory that hides what the layers have, with all that the
// base has in it. There is no other way to show a directory of the base that a
// layer deleted, replaced or moved.
func (t *terrain) copyTree(in *site, name string, base file, into int, as string) error {
	l := &lower{dir: in.base, name: name, path: t.inBase(originOf(in.origin, name)), file: base}
	return t.copyDir(l, into, as, true)
}

func (t *terrain) copyDir(l *lower, into int, as string, top bool) error {
	if l.depth > maxDepth {
		return forkbox.Errorf(forkbox.Unsupported, "", "directories are nested more than %d deep in %.80q…", maxDepth, l.path)
	}
	base, err := openPath(l.dir, l.name)
	if err != nil {
		return err
	}
	defer unix.Close(base)
	return t.directory(base, l.file, into, as, func(fd int) error {
		if top {
			if err := unix.Fsetxattr(fd, t.stack.opaque, []byte("y"), 0); err != nil {
				return err
			}
		}
		return t.copyNames(l, base, fd)
	})
}

// copyNames copies what is in a directory of the base. What is mounted there is
// not of this filesystem: the box has it as an empty directory.
func (t *terrain) copyNames(l *lower, base, into int) error {
	if t.d.src.Skip != nil && t.d.src.Skip(l.path) || isMountPoint(l.dir, l.name) {
		return nil
	}
	dir, err := openDir(base, ".", 0)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	names, err := linux.Names(dir)
	if err != nil {
		return err
	}
	for _, n := range names {
		sub := &lower{dir: dir, name: n, path: join(l.path, n), depth: l.depth + 1}
		if err := t.copyOne(sub, into); err != nil {
			return named(sub.path, err)
		}
	}
	return nil
}

func (t *terrain) copyOne(l *lower, into int) (err error) {
	if err := t.ctx.Err(); err != nil {
		return err
	}
	if l.file, err = lstat(l.dir, l.name); err != nil {
		return ignore(err, unix.ENOENT) // it vanished while we were looking
	}
	switch {
	case t.d.isHidden(l.path):
		return t.cover(l.file, into, l.name)
	case l.file.isDir():
		return t.copyDir(l, into, l.name, false)
	}
	err = t.copyFile(l.dir, l.name, l.file, into, l.name)
	if errors.Is(err, errVanished) {
		return nil
	}
	return err
}

// cover makes what the box is shown of a secret: something empty, with its mode
// and owner, or nothing.
func (t *terrain) cover(f file, into int, as string) error {
	return t.copier().cover(f, into, as, func(fd int) error {
		return unix.Fsetxattr(fd, t.stack.opaque, []byte("y"), 0)
	})
}
