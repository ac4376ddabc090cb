package land

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/linux"
)

// handle is an open object: for I/O, or with O_PATH, which is all that can be
// had of a symlink or a fifo.
type handle struct {
	fd   int
	real bool
}

// dress gives something that was staged the attributes of its item. The order
// matters: chown clears setuid and capabilities, chmod rewrites an ACL.
func dress(h handle, r *record, it *Item) error {
	now, err := fstat(h.fd)
	if err != nil {
		return err
	}
	want := kernelMode(it.Node.Mode)
	if it.KeepOwner {
		if r.Old != nil {
			_, err = h.chown(now, r.Old.UID, r.Old.GID)
		}
	} else {
		var got *object
		if got, err = h.chown(now, uint32(it.Node.UID), uint32(it.Node.GID)); err == nil {
			want = withoutLentRights(want, got, uint32(it.Node.UID), uint32(it.Node.GID))
		}
	}
	if err == nil && !now.isSymlink() {
		err = h.chmod(want)
	}
	if err == nil {
		err = h.setXattrs(it.Path, it.Node.Xattrs)
	}
	if err == nil && !it.Node.ModTime.IsZero() {
		err = h.setModTime(it.Node.ModTime)
	}
	return err
}

// withoutLentRights drops setuid and setgid from a file that could not be
// given the owner that they were meant for.
func withoutLentRights(mode uint32, got *object, uid, gid uint32) uint32 {
	if mode&unix.S_IFMT == unix.S_IFDIR {
		return mode
	}
	if got.UID != uid {
		mode &^= unix.S_ISUID
	}
	if got.GID != gid {
		mode &^= unix.S_ISGID
	}
	return mode
}

// chown changes the owner as far as the caller may, and tells what came of it.
func (h handle) chown(now *object, uid, gid uint32) (*object, error) {
	if now.UID == uid && now.GID == gid {
		return now, nil
	}
	err := h.tryChown(int(uid), int(gid))
	if notAllowed(err) {
		err = h.tryChown(-1, int(gid))
	}
	if err != nil && !notAllowed(err) {
		return nil, err
	}
	return fstat(h.fd)
}

func (h handle) tryChown(uid, gid int) error {
	return act("chown", func() error { return unix.Fchownat(h.fd, "", uid, gid, unix.AT_EMPTY_PATH) })
}

// notAllowed: EINVAL is an id that a user namespace does not know.
func notAllowed(err error) bool {
	return errors.Is(err, unix.EPERM) || errors.Is(err, unix.EINVAL)
}

func (h handle) chmod(mode uint32) error {
	return act("chmod", func() error {
		if h.real {
			return unix.Fchmod(h.fd, mode&0o7777)
		}
		return unix.Fchmodat(unix.AT_FDCWD, linux.ProcPath(h.fd), mode&0o7777, 0)
	})
}

func (h handle) setModTime(t time.Time) error {
	mtime, err := unix.TimeToTimespec(t)
	if err != nil {
		return err
	}
	times := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, mtime}
	return act("utimes", func() error { return unix.UtimesNanoAt(h.fd, "", times, unix.AT_EMPTY_PATH) })
}

// setXattrs sets attributes; capabilities last, for the other calls may clear
// them. One that cannot be set is an error: what was reviewed has it.
func (h handle) setXattrs(path string, xattrs map[string][]byte) error {
	names := slices.SortedFunc(maps.Keys(xattrs), func(a, b string) int {
		if capA, capB := a == capability, b == capability; capA != capB {
			return map[bool]int{true: 1, false: -1}[capA]
		}
		return strings.Compare(a, b)
	})
	for _, name := range names {
		err := h.writable(func() error {
			return act("setxattr", func() error { return unix.Setxattr(linux.ProcPath(h.fd), name, xattrs[name], 0) })
		})
		switch {
		case errors.Is(err, unix.EPERM):
			return forkbox.Errorf(forkbox.Denied, opLand, "%q: you may not set its attribute %q", path, name).About(path, "may not set "+name)
		case errors.Is(err, unix.ENOTSUP):
			return forkbox.Errorf(forkbox.Unsupported, opLand, "%q: its filesystem does not have the attribute %q", path, name).About(path, "cannot have "+name)
		case err != nil:
			return err
		}
	}
	return nil
}

// writable does something that needs write permission, which the owner of a
// read-only file does not have: a user's attributes are guarded by the mode.
func (h handle) writable(do func() error) error {
	err := do()
	if !errors.Is(err, unix.EACCES) {
		return err
	}
	now, statErr := fstat(h.fd)
	if statErr != nil || now.isSymlink() || now.perm()&0o200 != 0 || h.chmod(now.Mode|0o200) != nil {
		return err
	}
	return errors.Join(do(), h.chmod(now.Mode))
}

const capability = "security.capability"
