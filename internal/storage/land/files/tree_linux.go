package files

import (
	"errors"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Tree resolves paths beneath a directory, and follows no symlink: a user who
// can write in the tree could lead a write anywhere with one.
type Tree struct {
	Root int
	// recent are the last directories that were asked for, the latest last:
	// paths come in order. A caller who holds one may ask for a few others
	// before it is closed.
	recent []resolved
}

type resolved struct {
	path string
	fd   int
}

// Dir opens a directory. The descriptor belongs to the tree.
func (t *Tree) Dir(p string) (int, error) {
	for i, r := range t.recent {
		if r.path == p {
			t.recent = append(slices.Delete(t.recent, i, i+1), r)
			return r.fd, nil
		}
	}
	fd, err := t.Resolve(strings.TrimPrefix(p, "/"), unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return -1, err
	}
	if len(t.recent) == 8 {
		unix.Close(t.recent[0].fd)
		t.recent = t.recent[1:]
	}
	t.recent = append(t.recent, resolved{p, fd})
	return fd, nil
}

// longest is how much of a path is given to the kernel at once; it takes 4096
// bytes, trees can be deeper.
const longest = 4000

// Resolve opens a path below the directory. The descriptor is the caller's.
func (t *Tree) Resolve(rel string, flags uint64) (int, error) {
	at := t.Root
	for len(rel) > longest {
		cut := strings.LastIndexByte(rel[:longest], '/')
		if cut <= 0 {
			return -1, unix.ENAMETOOLONG
		}
		next, err := Open(at, rel[:cut], unix.O_PATH|unix.O_DIRECTORY)
		if at != t.Root {
			unix.Close(at)
		}
		if err != nil {
			return -1, err
		}
		at, rel = next, rel[cut+1:]
	}
	fd, err := Open(at, strings.TrimSuffix("./"+rel, "/"), flags)
	if at != t.Root {
		unix.Close(at)
	}
	return fd, err
}

// Parent opens the directory that a path is in, and tells its name there.
func (t *Tree) Parent(p string) (dir int, name string, err error) {
	if p == "/" {
		dir, err = t.Dir("/")
		return dir, ".", err
	}
	dir, err = t.Dir(path.Dir(p))
	return dir, path.Base(p), err
}

// Look describes what is at a path. Nothing there, or no directory that it
// could be in, is nil; a symlink on the way is an error.
func (t *Tree) Look(p string) (*Object, error) {
	dir, name, err := t.Parent(p)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return Lstat(dir, name)
}

// Forget closes what it has open: after a directory moved, the same path can
// mean another one.
func (t *Tree) Forget() {
	for _, r := range t.recent {
		unix.Close(r.fd)
	}
	t.recent = nil
}
