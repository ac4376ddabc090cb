package files

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/linux"
)

// Handle is an open object: for I/O, or with O_PATH, which is all that can be
// had of a symlink or a fifo.
type Handle struct {
	Fd   int
	Real bool // for I/O
}

// Chown changes the owner as far as the caller may, and tells what came of it.
func (h Handle) Chown(now *Object, uid, gid uint32) (*Object, error) {
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
	return Fstat(h.Fd)
}

func (h Handle) tryChown(uid, gid int) error {
	return Act("chown", func() error { return unix.Fchownat(h.Fd, "", uid, gid, unix.AT_EMPTY_PATH) })
}

// notAllowed: EINVAL is an id that a user namespace does not know.
func notAllowed(err error) bool {
	return errors.Is(err, unix.EPERM) || errors.Is(err, unix.EINVAL)
}

// WithoutLentRights drops setuid and setgid from a file that could not be
// given the owner that they were meant for.
func WithoutLentRights(mode uint32, got *Object, uid, gid uint32) uint32 {
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

// Chmod sets the mode.
func (h Handle) Chmod(mode uint32) error {
	return Act("chmod", func() error {
		if h.Real {
			return unix.Fchmod(h.Fd, mode&0o7777)
		}
		return unix.Fchmodat(unix.AT_FDCWD, linux.ProcPath(h.Fd), mode&0o7777, 0)
	})
}

// SetModTime sets the time of the last change to the content.
func (h Handle) SetModTime(t time.Time) error {
	mtime, err := unix.TimeToTimespec(t)
	if err != nil {
		return err
	}
	times := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, mtime}
	return Act("utimes", func() error { return unix.UtimesNanoAt(h.Fd, "", times, unix.AT_EMPTY_PATH) })
}

// SetXattrs sets attributes; capabilities last, for the other calls may clear
// them. One that cannot be set is an error: what was reviewed has it.
func (h Handle) SetXattrs(path string, xattrs map[string][]byte) error {
	names := slices.SortedFunc(maps.Keys(xattrs), func(a, b string) int {
		if capA, capB := a == capability, b == capability; capA != capB {
			return map[bool]int{true: 1, false: -1}[capA]
		}
		return strings.Compare(a, b)
	})
	for _, name := range names {
		err := h.Writable(func() error {
			return Act("setxattr", func() error { return unix.Setxattr(linux.ProcPath(h.Fd), name, xattrs[name], 0) })
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

const capability = "security.capability"

// Writable does something that needs write permission, which the owner of a
// read-only file does not have: a user's attributes are guarded by the mode.
func (h Handle) Writable(do func() error) error {
	err := do()
	if !errors.Is(err, unix.EACCES) {
		return err
	}
	now, statErr := Fstat(h.Fd)
	if statErr != nil || now.IsSymlink() || now.Perm()&0o200 != 0 || h.Chmod(now.Mode|0o200) != nil {
		return err
	}
	return errors.Join(do(), h.Chmod(now.Mode))
}

// Xattrs reads the attributes that belong to a file: not the bookkeeping of
// overlayfs, nor labels that follow from where a file lies. The names are
// packed.
func (h Handle) Xattrs() map[string][]byte {
	buf := make([]byte, 64<<10) // the kernel's own bound
	n, err := unix.Listxattr(linux.ProcPath(h.Fd), buf)
	if err != nil || n == 0 {
		return nil
	}
	found := map[string][]byte{}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(buf[:n]), "\x00"), "\x00") {
		if bookkeeping(name) {
			continue
		}
		value := make([]byte, 64<<10)
		if n, err := unix.Getxattr(linux.ProcPath(h.Fd), name, value); err == nil {
			found[Pack(name)] = bytes.Clone(value[:n])
		}
	}
	return found
}

func bookkeeping(name string) bool {
	for _, prefix := range []string{"trusted.overlay.", "user.overlay.", "security.selinux", "security.ima", "security.evm"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// Packed are attributes with their names packed.
func Packed(xattrs map[string][]byte) map[string][]byte {
	if len(xattrs) == 0 {
		return nil
	}
	p := map[string][]byte{}
	for name, value := range xattrs {
		p[Pack(name)] = value
	}
	return p
}

// Become gives an object the attributes of another. Removing an ACL and chown
// change the mode, chmod changes an ACL: hence the order.
func (h Handle) Become(path string, want *Object) error {
	now, err := Fstat(h.Fd)
	if err != nil {
		return err
	}
	if _, err = h.Chown(now, want.UID, want.GID); err != nil {
		return err
	}
	for name := range h.Xattrs() {
		if _, stays := want.Xattrs[name]; stays {
			continue
		}
		err := h.Writable(func() error {
			return Act("removexattr", func() error { return unix.Removexattr(linux.ProcPath(h.Fd), Unpack(name)) })
		})
		if err != nil && !errors.Is(err, unix.ENODATA) {
			return err
		}
	}
	if now, err = Fstat(h.Fd); err != nil {
		return err
	}
	mode := WithoutLentRights(want.Mode, now, want.UID, want.GID)
	if !now.IsSymlink() && now.Perm() != mode&0o7777 {
		if err := h.Chmod(mode); err != nil {
			return err
		}
	}
	missing := map[string][]byte{}
	has := h.Xattrs()
	for name, value := range want.Xattrs {
		if v, ok := has[name]; !ok || !bytes.Equal(v, value) {
			missing[Unpack(name)] = value
		}
	}
	return h.SetXattrs(path, missing)
}

// SameAttrs says whether mode and owner are as they were.
func SameAttrs(a, b *Object) bool {
	return a.Mode == b.Mode && a.UID == b.UID && a.GID == b.GID
}

// SameXattrs says whether extended attributes are as they were.
func SameXattrs(a, b map[string][]byte) bool {
	return maps.EqualFunc(a, b, bytes.Equal)
}

// Between says whether an object's attributes are a mixture of two sets, which
// only an interrupted change leaves.
func Between(now, a, b *Object) bool {
	const unsure = unix.S_ISUID | unix.S_ISGID | 0o070 // chown and ACLs change them in passing
	if m := now.Mode &^ unsure; m != a.Mode&^unsure && m != b.Mode&^unsure {
		return false
	}
	if now.UID != a.UID && now.UID != b.UID || now.GID != a.GID && now.GID != b.GID {
		return false
	}
	for name, value := range now.Xattrs {
		inA, okA := a.Xattrs[name]
		inB, okB := b.Xattrs[name]
		acl := strings.HasPrefix(name, "system.posix_acl")
		if !(okA && (acl || bytes.Equal(value, inA))) && !(okB && (acl || bytes.Equal(value, inB))) {
			return false
		}
	}
	return true
}
