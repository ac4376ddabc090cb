package oci

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

// put makes what an entry describes. Whatever was there is replaced, except a
// directory by a directory.
func (u *unpacker) put(path string, h *tar.Header, r io.Reader) error {
	if device(h) && u.overlay {
		return refused(h.Name, "it is a device node")
	}
	s, err := u.at(path)
	if err != nil {
		return err
	}
	defer s.close()
	if s.name == "." && h.Typeflag != tar.TypeDir {
		return refused(h.Name, "the root of a filesystem can only be a directory")
	}
	a, err := u.attrsOf(h)
	if err != nil {
		return err
	}
	switch h.Typeflag {
	case tar.TypeDir:
		err = u.putFolder(s, a)
	case tar.TypeReg, tar.TypeCont, tar.TypeGNUSparse:
		err = u.putFile(s, h, r, a)
	case tar.TypeSymlink:
		err = u.putSymlink(s, h.Linkname, a)
	case tar.TypeLink:
		err = u.putLink(s, h.Linkname)
	case tar.TypeFifo:
		err = u.putFifo(s, a)
	case tar.TypeChar, tar.TypeBlock:
		// Never made: who runs the box makes the devices it may have.
		u.out.Left.Devices++
		_, err = u.clear(s.dir, s.name)
	default:
		err = refused(h.Name, "it is of a kind that no archive of files has")
	}
	if err == nil {
		u.note(s)
	}
	return err
}

func device(h *tar.Header) bool { return h.Typeflag == tar.TypeChar || h.Typeflag == tar.TypeBlock }

func (u *unpacker) putFolder(s *spot, a attrs) error {
	if s.name == "." {
		return u.remember(s, a)
	}
	err := unix.Mkdirat(s.dir, s.name, 0o700)
	if errors.Is(err, unix.EEXIST) {
		err = u.replaceByFolder(s)
	}
	if err != nil {
		return err
	}
	return u.remember(s, a)
}

func (u *unpacker) replaceByFolder(s *spot) error {
	st, err := lstat(s.dir, s.name)
	if err != nil || st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return err
	}
	mark, err := u.clear(s.dir, s.name)
	if err != nil {
		return err
	}
	if err := unix.Mkdirat(s.dir, s.name, 0o700); err != nil || !mark {
		return err
	}
	// Deleted and made anew in one layer: nothing from below is in it.
	fd, err := open(s.dir, s.name, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return u.markOpaque(fd)
}

func (u *unpacker) putFile(s *spot, h *tar.Header, r io.Reader, a attrs) error {
	if _, err := u.clear(s.dir, s.name); err != nil {
		return err
	}
	fd, err := unix.Openat(s.dir, s.name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), s.name)
	defer f.Close()
	if err := u.writeContent(f, r, h.Size); err != nil {
		return err
	}
	u.out.Bytes += h.Size
	return u.dress(fd, a, unix.S_IFREG)
}

var zeros [64 << 10]byte

// writeContent writes a file, and leaves holes where there is nothing but zeros:
// the archive does not say where they were.
func (u *unpacker) writeContent(f *os.File, r io.Reader, size int64) error {
	for at := int64(0); at < size; {
		if err := u.ctx.Err(); err != nil {
			return err
		}
		n, err := io.ReadFull(r, u.buf[:min(int64(len(u.buf)), size-at)])
		if err != nil {
			return damaged(err)
		}
		if !bytes.Equal(u.buf[:n], zeros[:n]) {
			if _, err := f.WriteAt(u.buf[:n], at); err != nil {
				return err
			}
		}
		at += int64(n)
	}
	return f.Truncate(size)
}

func (u *unpacker) putSymlink(s *spot, target string, a attrs) error {
	if _, err := u.clear(s.dir, s.name); err != nil {
		return err
	}
	if err := unix.Symlinkat(target, s.dir, s.name); err != nil {
		if errors.Is(err, unix.ENOENT) {
			return refused(s.path, "it is a symlink to nothing")
		}
		return err
	}
	return u.dressName(s, a, unix.S_IFLNK)
}

func (u *unpacker) putFifo(s *spot, a attrs) error {
	if _, err := u.clear(s.dir, s.name); err != nil {
		return err
	}
	if err := unix.Mknodat(s.dir, s.name, unix.S_IFIFO|0o600, 0); err != nil {
		return err
	}
	return u.dressName(s, a, unix.S_IFIFO)
}

// putLink gives a file another name. The file must have come from an archive:
// its path leads through no symlink, and so to nowhere else.
func (u *unpacker) putLink(s *spot, target string) error {
	path, err := cleanName(target)
	if err != nil {
		return err
	}
	top, rel, err := u.ground.top(path)
	if err != nil {
		return err
	}
	dir, name := splitPath(rel)
	fd, err := open(top, "./"+dir, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return unlinked(s, target, err)
	}
	defer unix.Close(fd)
	st, err := lstat(fd, name)
	if err != nil {
		return unlinked(s, target, err)
	}
	if format := st.Mode & unix.S_IFMT; format != unix.S_IFREG && format != unix.S_IFLNK && format != unix.S_IFIFO {
		return refused(s.path, "it is a hard link to something that can have only one name")
	}
	if now, err := lstat(s.dir, s.name); err == nil && now.Ino == st.Ino && now.Dev == st.Dev {
		return nil
	}
	if _, err := u.clear(s.dir, s.name); err != nil {
		return err
	}
	return unlinked(s, target, unix.Linkat(fd, name, s.dir, s.name, 0))
}

func unlinked(s *spot, target string, err error) error {
	switch {
	case errors.Is(err, unix.ENOENT):
		return forkbox.Errorf(forkbox.Invalid, opUnpack, "%.200q is a hard link to %.200q, which is not there", s.path, target)
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.EXDEV):
		return forkbox.Errorf(forkbox.Invalid, opUnpack, "%.200q is a hard link to %.200q, which leads through a symlink, a file, or out of the directory", s.path, target)
	}
	return err
}
