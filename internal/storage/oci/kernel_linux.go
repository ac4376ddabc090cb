package oci

import (
	"bytes"
	"errors"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox/internal/linux"
)

const (
	stay   = linux.Beneath
	inRoot = unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS
)

// open opens a path below a directory, follows nothing, and stays below it.
func open(dir int, path string, flags uint64) (int, error) {
	return linux.OpenAt(dir, path, flags|unix.O_NOFOLLOW, stay)
}

func readlink(dir int, name string) (string, error) {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(dir, name, buf)
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}

// xattr reads one attribute of a name in a directory, without opening it.
func xattr(dir int, name, attr string) ([]byte, error) {
	path := linux.ProcPath(dir) + "/" + name
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
	path := linux.ProcPath(dir) + "/" + name
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
