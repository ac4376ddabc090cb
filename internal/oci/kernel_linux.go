package oci

import (
	"bytes"
	"errors"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

const (
	stay   = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS
	inRoot = unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS
)

// open opens a path below a directory, follows nothing, and stays below it.
func open(dir int, path string, flags uint64) (int, error) {
	return openHow(dir, path, flags|unix.O_NOFOLLOW, stay)
}

func openHow(dir int, path string, flags, resolve uint64) (int, error) {
	for {
		fd, err := unix.Openat2(dir, path, &unix.OpenHow{Flags: flags | unix.O_CLOEXEC, Resolve: resolve})
		// EAGAIN: a rename elsewhere raced with the walk; EINTR: a signal.
		if err != unix.EAGAIN && err != unix.EINTR {
			return fd, err
		}
	}
}

// list returns the names in an open directory, sorted.
func list(dir int) ([]string, error) {
	fd, err := open(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var names []string
	buf := make([]byte, 32<<10)
	for {
		n, err := unix.ReadDirent(fd, buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, err
		}
		if n <= 0 {
			slices.Sort(names)
			return names, nil
		}
		_, _, names = unix.ParseDirent(buf[:n], -1, names)
	}
}

func readlink(dir int, name string) (string, error) {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(dir, name, buf)
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}

// procPath names an open object for calls that take only paths. A symlink
// that was opened with O_PATH is not followed.
func procPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// xattr reads one attribute of a name in a directory, without opening it.
func xattr(dir int, name, attr string) ([]byte, error) {
	path := procPath(dir) + "/" + name
	buf := make([]byte, 256)
	for {
		n, err := unix.Lgetxattr(path, attr, buf)
		if err == nil {
			return buf[:n], nil
		}
		if err != unix.ERANGE || len(buf) > 1<<16 {
			return nil, err
		}
		buf = make([]byte, 1<<17) // the kernel's own bound is half of it
	}
}

// listXattrs names the attributes of a name in a directory, sorted.
func listXattrs(dir int, name string) ([]string, error) {
	path := procPath(dir) + "/" + name
	buf := make([]byte, 512)
	n, err := unix.Llistxattr(path, buf)
	if err == unix.ERANGE {
		buf = make([]byte, 1<<16) // the kernel's own bound
		n, err = unix.Llistxattr(path, buf)
	}
	if errors.Is(err, unix.ENOTSUP) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for b := range bytes.SplitSeq(buf[:n], []byte{0}) {
		if len(b) > 0 {
			names = append(names, string(b))
		}
	}
	slices.Sort(names)
	return names, nil
}

// absent says that there is no such attribute.
func absent(err error) bool {
	return errors.Is(err, unix.ENODATA) || errors.Is(err, unix.ENOTSUP)
}
