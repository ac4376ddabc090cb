package land

import (
	"errors"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

// tree resolves paths beneath a directory, and follows no symlink: a user who
// can write in the tree could lead a write anywhere with one.
type tree struct {
	root int
	// recent are the last directories that were asked for, the latest last:
	// paths come in order. A caller who holds one may ask for a few others
	// before it is closed.
	recent []resolved
}

type resolved struct {
	path string
	fd   int
}

// dir opens a directory. The descriptor belongs to the tree.
func (t *tree) dir(p string) (int, error) {
	for i, r := range t.recent {
		if r.path == p {
			t.recent = append(slices.Delete(t.recent, i, i+1), r)
			return r.fd, nil
		}
	}
	fd, err := t.resolve(strings.TrimPrefix(p, "/"), unix.O_PATH|unix.O_DIRECTORY)
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

func (t *tree) resolve(rel string, flags uint64) (int, error) {
	at := t.root
	for len(rel) > longest {
		cut := strings.LastIndexByte(rel[:longest], '/')
		if cut <= 0 {
			return -1, unix.ENAMETOOLONG
		}
		next, err := open(at, rel[:cut], unix.O_PATH|unix.O_DIRECTORY)
		if at != t.root {
			unix.Close(at)
		}
		if err != nil {
			return -1, err
		}
		at, rel = next, rel[cut+1:]
	}
	fd, err := open(at, strings.TrimSuffix("./"+rel, "/"), flags)
	if at != t.root {
		unix.Close(at)
	}
	return fd, err
}

// parent opens the directory that a path is in, and tells its name there.
func (t *tree) parent(p string) (dir int, name string, err error) {
	if p == "/" {
		dir, err = t.dir("/")
		return dir, ".", err
	}
	dir, err = t.dir(path.Dir(p))
	return dir, path.Base(p), err
}

// look describes what is at a path. Nothing there, or no directory that it
// could be in, is nil; a symlink on the way is an error.
func (t *tree) look(p string) (*object, error) {
	dir, name, err := t.parent(p)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return lstat(dir, name)
}

// forget closes what it has open: after a directory moved, the same path can
// mean another one.
func (t *tree) forget() {
	for _, r := range t.recent {
		unix.Close(r.fd)
	}
	t.recent = nil
}

// failed makes an error of what the kernel said about a path.
func failed(op, p string, err error) error {
	var done *forkbox.Error
	switch {
	case err == nil, errors.As(err, &done):
		return err
	case errors.Is(err, unix.ELOOP):
		return conflict(op, p, "a symlink is where a directory was")
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR):
		return conflict(op, p, "the directory that it was in is gone")
	case errors.Is(err, unix.EEXIST):
		return conflict(op, p, "something else is there by now")
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM), errors.Is(err, unix.EROFS):
		return forkbox.Errorf(forkbox.Denied, op, "%q: %w", p, err).About(p, err.Error())
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		return forkbox.Errorf(forkbox.Internal, op, "%q: %w", p, err).About(p, err.Error()).Hint("free some space on its filesystem")
	case errors.Is(err, unix.EBUSY):
		return forkbox.Errorf(forkbox.Busy, op, "%q: something is mounted there", p).About(p, "something is mounted there")
	case errors.Is(err, unix.EXDEV):
		return forkbox.Errorf(forkbox.Unsupported, op, "%q: its filesystem lets nothing be moved there: %w", p, err).About(p, err.Error())
	case errors.Is(err, unix.ENOSYS):
		return forkbox.Errorf(forkbox.Unsupported, op, "%q: %w", p, err).Hint("Linux 5.6 or later is needed")
	}
	return forkbox.Errorf(forkbox.Internal, op, "%q: %w", p, err).About(p, err.Error())
}

// wrap is [forkbox.Wrap] for what is not about one path. That a disk is full
// comes from the store's as well as from that of the tree.
func wrap(op string, err error) error {
	var known *forkbox.Error
	if errors.As(err, &known) || !errors.Is(err, unix.ENOSPC) && !errors.Is(err, unix.EDQUOT) {
		return forkbox.Wrap(op, err)
	}
	return forkbox.Errorf(forkbox.Internal, op, "%w", err).
		Hint("free some: forkbox gc, or forkbox rm BOX; forkbox du says what takes it").
		Hint("if the store has room, the disk of what is to change has none")
}

func conflict(op, p, why string) error {
	return forkbox.Errorf(forkbox.Conflict, op, "%q: %s", p, why).About(p, why)
}

// besides adds what went wrong afterwards, if anything did.
func besides(err, also error) error {
	if also == nil {
		return err
	}
	return errors.Join(err, also)
}
