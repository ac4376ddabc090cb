package oci

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/linux"
)

// whiteout does, or marks, that a path of the layers below is gone. It does not
// mean what its own layer has there.
func (u *unpacker) whiteout(path string) error {
	if u.overlay {
		return u.markGone(path)
	}
	s, err := u.find(path)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
		return nil
	}
	if err != nil {
		return err
	}
	defer s.close()
	return u.sweep(s.dir, s.name)
}

// opaque does, or marks, that everything in a directory of the layers below is
// gone.
func (u *unpacker) opaque(path string) error {
	top, rel, err := u.ground.top(path)
	if err != nil {
		return err
	}
	dir, err := u.folder(top, rel, path)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	if u.overlay {
		return u.markOpaque(dir)
	}
	return u.sweepInside(dir)
}

func (u *unpacker) markGone(path string) error {
	s, err := u.at(path)
	if err != nil {
		return err
	}
	defer s.close()
	if s.name == "." {
		return forkbox.Errorf(forkbox.Unsupported, opUnpack, "%q was deleted there, and a filesystem is mounted on it here", "/"+path)
	}
	st, err := lstat(s.dir, s.name)
	switch {
	case errors.Is(err, unix.ENOENT):
		if err := unix.Mknodat(s.dir, s.name, unix.S_IFCHR, 0); err != nil {
			return err
		}
		// Where no layer below has the directory, overlayfs would list the
		// whiteout as a file, unless the directory is noted to be a copy.
		return unix.Setxattr(linux.ProcPath(s.dir), u.form.XattrPrefix+"origin", nil, 0)
	case err == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR:
		fd, err := open(s.dir, s.name, unix.O_PATH|unix.O_DIRECTORY)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return u.markOpaque(fd)
	}
	return err // what the layer has there hides what is below
}

func (u *unpacker) markOpaque(dir int) error {
	return unix.Setxattr(linux.ProcPath(dir), u.form.XattrPrefix+"opaque", []byte("y"), 0)
}

// sweep removes a name, but nothing that this layer made there: archives need
// not have what is gone before what is new.
func (u *unpacker) sweep(dir int, name string) error {
	st, err := lstat(dir, name)
	if err != nil {
		if errors.Is(err, unix.ENOENT) {
			return nil
		}
		return err
	}
	id, err := identify(dir)
	if err != nil {
		return err
	}
	made := u.made[slot{id, name}]
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		if made {
			return nil
		}
		return unix.Unlinkat(dir, name, 0)
	}
	fd, err := open(dir, name, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := u.sweepInside(fd); err != nil || made {
		return err
	}
	return u.removeFolder(dir, name, st)
}

func (u *unpacker) sweepInside(dir int) error {
	names, err := linux.List(dir)
	for _, name := range names {
		if err == nil {
			err = u.sweep(dir, name)
		}
	}
	return err
}

// removeFolder removes a directory if it is empty.
func (u *unpacker) removeFolder(dir int, name string, st *unix.Stat_t) error {
	err := unix.Unlinkat(dir, name, unix.AT_REMOVEDIR)
	if errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.EEXIST) {
		return nil
	}
	delete(u.folders, inode{uint64(st.Dev), st.Ino})
	return err
}

// clear removes whatever is at a spot, for something else to be put there. It
// says whether that was the mark of something deleted.
func (u *unpacker) clear(dir int, name string) (mark bool, err error) {
	st, err := lstat(dir, name)
	if errors.Is(err, unix.ENOENT) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return u.overlay && st.Mode&unix.S_IFMT == unix.S_IFCHR, unix.Unlinkat(dir, name, 0)
	}
	fd, err := open(dir, name, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return false, err
	}
	defer unix.Close(fd)
	names, err := linux.List(fd)
	for _, n := range names {
		if err == nil {
			_, err = u.clear(fd, n)
		}
	}
	if err != nil {
		return false, err
	}
	return false, u.removeFolder(dir, name, st)
}

func lstat(dir int, name string) (*unix.Stat_t, error) {
	var st unix.Stat_t
	return &st, unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW)
}
