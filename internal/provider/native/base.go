//go:build linux

package native

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

// openBase is where the base of a box is, and its open directory where a path
// could come to mean something else.
type openBase struct {
	dir string
	fd  int // 0 where the path will do
}

// at is where the base has a path.
func (b openBase) at(path string) string { return filepath.Join("/", b.dir, path) }

// openBase finds the base of a box. A directory that a user other than root
// named is gone through again each time, by what is open, and without following
// links: the user may have put another in its place since, that a daemon of root
// could enter and the user could not.
func (sc *scenery) openBase(box forkbox.Box) (openBase, func(), error) {
	if box.Base.Kind != "dir" || sc.rootless || box.Owner.UID == 0 {
		return openBase{dir: box.Base.Root}, func() {}, nil
	}
	fd, err := enterAs(box.Base.Root, box.Owner)
	if err != nil {
		return openBase{}, nil, err
	}
	return openBase{dir: fmt.Sprintf("/proc/self/fd/%d", fd), fd: fd}, func() { unix.Close(fd) }, nil
}

// enterAs opens a directory as its user could: each on the way has to let them
// pass, and the last one be read. What they may not see they are not told of.
func enterAs(dir string, who forkbox.Owner) (int, error) {
	const op = "fork the directory"
	fd, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, forkbox.Wrap(op, err)
	}
	names := strings.FieldsFunc(dir, func(c rune) bool { return c == '/' })
	for i := 0; ; i++ {
		want := uint32(0o1)
		if i == len(names) {
			want = 0o5
		}
		if !permits(fd, who, want) {
			unix.Close(fd)
			return -1, forkbox.Errorf(forkbox.Denied, op, "you may not look into %s", dir)
		}
		if i == len(names) {
			return fd, nil
		}
		next, err := unix.Openat(fd, names[i], unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		unix.Close(fd)
		if err != nil {
			return -1, notEntered(op, dir, err)
		}
		fd = next
	}
}

func notEntered(op, dir string, err error) error {
	switch {
	case errors.Is(err, unix.ENOENT):
		return forkbox.Errorf(forkbox.NotFound, op, "%s is not there", dir)
	case errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
		return forkbox.Errorf(forkbox.Invalid, op, "%s is not a directory, or is one by way of a link", dir).
			Hint("give the path without links: realpath %s", dir)
	}
	return forkbox.Errorf(forkbox.Denied, op, "%s: %w", dir, err)
}

// permits says whether the mode of an open directory gives a user the rights in
// want. Where an access list may say otherwise only the owner is sure.
func permits(fd int, who forkbox.Owner, want uint32) bool {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return false
	}
	mode := st.Mode & 0o777
	switch {
	case int(st.Uid) == who.UID:
		return mode>>6&want == want
	case hasACL(fd):
		return false
	case int(st.Gid) == who.GID || slices.Contains(who.Groups, int(st.Gid)):
		return mode>>3&want == want
	}
	return mode&want == want
}

// hasACL: by way of /proc, for what is open only as a place.
func hasACL(fd int) bool {
	_, err := unix.Getxattr(fmt.Sprintf("/proc/self/fd/%d", fd), "system.posix_acl_access", nil)
	return err == nil
}
