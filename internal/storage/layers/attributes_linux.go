package layers

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

// xattrMax is the kernel's bound for the names of a file's extended
// attributes, and for the value of one.
const xattrMax = 64 << 10

// attributes are what a file has besides its content.
type attributes struct {
	st     unix.Stat_t
	xattrs []xattr
}

type xattr struct {
	name  string
	value []byte
}

// handle is an open file: for I/O, or with O_PATH, which is all that can be
// had of a symlink or a fifo.
type handle struct {
	fd   int
	real bool
}

// attributes reads those of a file that was just opened with flags, and
// closes it after an error.
func (c *cloner) attributes(fd int, flags uint64) (int, *attributes, error) {
	a := &attributes{}
	err := unix.Fstat(fd, &a.st)
	if err == nil {
		a.xattrs, err = handle{fd, flags&unix.O_PATH == 0}.xattrs(c.buf)
	}
	if err != nil {
		unix.Close(fd)
		return -1, nil, err
	}
	return fd, a, nil
}

func (h handle) xattrs(buf []byte) ([]xattr, error) {
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

// dress gives a new file the attributes of another. The order matters: chown
// clears setuid and capabilities, an ACL changes the mode, the mode may forbid
// us to set an attribute, and all of that changes times.
func (h handle) dress(a *attributes) error {
	var now unix.Stat_t
	if err := unix.Fstat(h.fd, &now); err != nil {
		return err
	}
	if now.Uid != a.st.Uid || now.Gid != a.st.Gid {
		if err := unix.Fchownat(h.fd, "", int(a.st.Uid), int(a.st.Gid), unix.AT_EMPTY_PATH); err != nil {
			return fmt.Errorf("set its owner: %w", err)
		}
	}
	for _, x := range a.xattrs {
		if err := h.set(x); err != nil {
			return fmt.Errorf("set its attribute %q: %w", x.name, err)
		}
	}
	if a.st.Mode&unix.S_IFMT != unix.S_IFLNK {
		if err := h.chmod(a.st.Mode & 0o7777); err != nil {
			return fmt.Errorf("set its mode: %w", err)
		}
	}
	times := []unix.Timespec{a.st.Atim, a.st.Mtim}
	if err := unix.UtimesNanoAt(h.fd, "", times, unix.AT_EMPTY_PATH); err != nil {
		return fmt.Errorf("set its time: %w", err)
	}
	return nil
}

// set sets an attribute. A security module labels files by itself, and lets no
// other program do it: its labels are as it wants them.
func (h handle) set(x xattr) error {
	var err error
	if h.real {
		err = unix.Fsetxattr(h.fd, x.name, x.value, 0)
	} else {
		err = unix.Setxattr(linux.ProcPath(h.fd), x.name, x.value, 0)
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

func (h handle) list(buf []byte) (int, error) {
	if h.real {
		return unix.Flistxattr(h.fd, buf)
	}
	return unix.Listxattr(linux.ProcPath(h.fd), buf)
}

func (h handle) get(name string, buf []byte) (int, error) {
	if h.real {
		return unix.Fgetxattr(h.fd, name, buf)
	}
	return unix.Getxattr(linux.ProcPath(h.fd), name, buf)
}

func (h handle) chmod(mode uint32) error {
	if h.real {
		return unix.Fchmod(h.fd, mode)
	}
	return unix.Chmod(linux.ProcPath(h.fd), mode)
}

// errLocked: root reads everything; others have to give themselves the
// permission first, and that is a change that a running box would see.
var errLocked = errors.New("its mode lets not even its owner read it, and is not changed while the box runs")

// open opens a name in the source and reads its attributes. Where the mode
// does not let the owner do that, it is changed for that moment; need is what
// it takes.
func (c *cloner) open(name string, flags uint64, need uint32) (fd int, attrs *attributes, err error) {
	fd, err = openQuietly(c.src.here(), name, flags)
	if errors.Is(err, unix.EACCES) {
		return c.openLocked(name, flags, need)
	}
	if err != nil {
		return -1, nil, err
	}
	return c.attributes(fd, flags)
}

func (c *cloner) openLocked(name string, flags uint64, need uint32) (fd int, attrs *attributes, err error) {
	var file int
	err = c.reach(func(dir int) error {
		file, err = openIn(dir, name, unix.O_PATH)
		return err
	})
	if err != nil {
		return -1, nil, err
	}
	defer unix.Close(file)
	var locked unix.Stat_t
	if err := unix.Fstat(file, &locked); err != nil {
		return -1, nil, err
	}
	err = c.unlocked(file, need, func() error {
		fd, err = unix.Open(linux.ProcPath(file), int(flags)|unix.O_CLOEXEC, 0)
		if err == nil {
			fd, attrs, err = c.attributes(fd, flags)
		}
		return err
	})
	if err != nil {
		return -1, nil, err
	}
	attrs.st = locked // not as it was for that moment
	return fd, attrs, nil
}

// openQuietly leaves the time of access alone, where it may.
func openQuietly(dir int, name string, flags uint64) (int, error) {
	if flags&unix.O_PATH != 0 {
		return openIn(dir, name, flags)
	}
	fd, err := openIn(dir, name, flags|unix.O_NOATIME)
	if errors.Is(err, unix.EPERM) {
		return openIn(dir, name, flags)
	}
	return fd, err
}

// reach does something in the source's directory that needs permission to
// search it.
func (c *cloner) reach(do func(dir int) error) error {
	dir := c.src.here()
	err := do(dir)
	if !errors.Is(err, unix.EACCES) {
		return err
	}
	return c.unlocked(dir, 0o500, func() error { return do(dir) })
}

// unlocked does something while the owner has the permissions that it takes.
// It is done for as short as possible: a crash meanwhile would leave them.
func (c *cloner) unlocked(fd int, need uint32, do func() error) error {
	if !c.still {
		return errLocked
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&need == need {
		return do() // it is not for the mode
	}
	if err := unix.Chmod(linux.ProcPath(fd), st.Mode&0o7777|need); err != nil {
		return err
	}
	err := do()
	return errors.Join(err, unix.Chmod(linux.ProcPath(fd), st.Mode&0o7777))
}
