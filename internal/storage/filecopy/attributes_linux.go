package filecopy

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/forkbox/forkbox/internal/linux"
	"golang.org/x/sys/unix"
)

// XattrMax is the kernel's bound for the names of a file's extended
// attributes, and for the value of one.
const XattrMax = 64 << 10

// Attributes are what a file has besides its content.
type Attributes struct {
	Stat   unix.Stat_t
	xattrs []xattr
}

type xattr struct {
	name  string
	value []byte
}

// Handle is an open file: for I/O, or with O_PATH, which is all that can be
// had of a symlink or a fifo.
type Handle struct {
	FD   int
	Real bool
}

// Read reads the attributes of an open file. buf has room for [XattrMax].
func (h Handle) Read(buf []byte) (*Attributes, error) {
	a := &Attributes{}
	if err := unix.Fstat(h.FD, &a.Stat); err != nil {
		return nil, err
	}
	var err error
	a.xattrs, err = h.xattrs(buf)
	return a, err
}

func (h Handle) xattrs(buf []byte) ([]xattr, error) {
	n, err := h.list(buf)
	if errors.Is(err, unix.ENOTSUP) || n == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list its attributes: %w", err)
	}
	var all []xattr
	for name := range strings.SplitSeq(strings.TrimSuffix(string(buf[:n]), "\x00"), "\x00") {
		n, err := h.get(name, buf)
		if errors.Is(err, unix.ENODATA) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read its attribute %q: %w", name, err)
		}
		all = append(all, xattr{name, bytes.Clone(buf[:n])})
	}
	// An ACL may forbid us to set the others.
	slices.SortStableFunc(all, func(a, b xattr) int { return cmp.Compare(order(a.name), order(b.name)) })
	return all, nil
}

func order(name string) int {
	if name == "system.posix_acl_access" {
		return 1
	}
	return 0
}

// Dress gives a new file the attributes of another. The order matters: chown
// clears setuid and capabilities, an ACL changes the mode, the mode may forbid
// us to set an attribute, and all of that changes times.
func (h Handle) Dress(a *Attributes) error {
	var now unix.Stat_t
	if err := unix.Fstat(h.FD, &now); err != nil {
		return err
	}
	if now.Uid != a.Stat.Uid || now.Gid != a.Stat.Gid {
		if err := unix.Fchownat(h.FD, "", int(a.Stat.Uid), int(a.Stat.Gid), unix.AT_EMPTY_PATH); err != nil {
			return fmt.Errorf("set its owner: %w", err)
		}
	}
	for _, x := range a.xattrs {
		if err := h.set(x); err != nil {
			return fmt.Errorf("set its attribute %q: %w", x.name, err)
		}
	}
	if a.Stat.Mode&unix.S_IFMT != unix.S_IFLNK {
		if err := h.chmod(a.Stat.Mode & 0o7777); err != nil {
			return fmt.Errorf("set its mode: %w", err)
		}
	}
	times := []unix.Timespec{a.Stat.Atim, a.Stat.Mtim}
	if err := unix.UtimesNanoAt(h.FD, "", times, unix.AT_EMPTY_PATH); err != nil {
		return fmt.Errorf("set its time: %w", err)
	}
	return nil
}

// set sets an attribute. A security module labels files by itself, and lets no
// other program do it: its labels are as it wants them.
func (h Handle) set(x xattr) error {
	var err error
	if h.Real {
		err = unix.Fsetxattr(h.FD, x.name, x.value, 0)
	} else {
		err = unix.Setxattr(linux.ProcPath(h.FD), x.name, x.value, 0)
	}
	if err != nil && label(x.name) {
		return nil
	}
	return err
}

func label(name string) bool {
	switch name {
	case "security.selinux", "security.ima", "security.evm", "security.SMACK64":
		return true
	}
	return false
}

func (h Handle) list(buf []byte) (int, error) {
	if h.Real {
		return unix.Flistxattr(h.FD, buf)
	}
	return unix.Listxattr(linux.ProcPath(h.FD), buf)
}

func (h Handle) get(name string, buf []byte) (int, error) {
	if h.Real {
		return unix.Fgetxattr(h.FD, name, buf)
	}
	return unix.Getxattr(linux.ProcPath(h.FD), name, buf)
}

func (h Handle) chmod(mode uint32) error {
	if h.Real {
		return unix.Fchmod(h.FD, mode)
	}
	return unix.Chmod(linux.ProcPath(h.FD), mode)
}

// Redress is Dress for a file that has attributes already: those that the other
// does not have go first. Labels of security modules stay.
func (h Handle) Redress(a *Attributes, buf []byte) error {
	has, err := h.xattrs(buf)
	if err != nil {
		return err
	}
	for _, x := range has {
		if label(x.name) || slices.ContainsFunc(a.xattrs, func(y xattr) bool { return y.name == x.name }) {
			continue
		}
		if err := h.remove(x.name); err != nil && !errors.Is(err, unix.ENODATA) {
			return fmt.Errorf("remove its attribute %q: %w", x.name, err)
		}
	}
	return h.Dress(a)
}

func (h Handle) remove(name string) error {
	if h.Real {
		return unix.Fremovexattr(h.FD, name)
	}
	return unix.Removexattr(linux.ProcPath(h.FD), name)
}
