package change

import (
	"bytes"
	"errors"
	"strconv"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// xattrPath names a file for the calls on extended attributes, which on most
// kernels have no form that takes a directory. Nothing is opened, so a fifo
// does not block and a device does not wake; the last component is not
// followed.
func xattrPath(dir int, name string) string {
	return "/proc/self/fd/" + strconv.Itoa(dir) + "/" + name
}

// xattr reads one attribute. What cannot be read is not there.
func xattr(dir int, name, attr string) ([]byte, bool) {
	value, err := getXattr(dir, name, attr)
	return value, err == nil
}

func getXattr(dir int, name, attr string) ([]byte, error) {
	path := xattrPath(dir, name)
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

// nameList is what the kernel lists: names, each ended by a zero byte.
type nameList []byte

// next takes the first name off the list; it is nil when there is none.
func (l *nameList) next() []byte {
	name, rest, ok := bytes.Cut(*l, []byte{0})
	if !ok {
		return nil
	}
	*l = rest
	return name
}

func (l nameList) has(name string) bool {
	for n := l.next(); n != nil; n = l.next() {
		if string(n) == name {
			return true
		}
	}
	return false
}

// listBuffer holds most lists that there are.
type listBuffer [512]byte

// listXattrs lists the attributes of a file, in buf if they fit.
func listXattrs(dir int, name string, buf *listBuffer) (nameList, error) {
	n, err := listXattrAt(dir, name, buf[:])
	if err == unix.ERANGE {
		large := make([]byte, 1<<16) // the kernel's own bound
		n, err = listXattrAt(dir, name, large)
		if err == nil {
			return large[:n], nil
		}
	}
	switch {
	case errors.Is(err, unix.ENOTSUP):
		return nil, nil // a filesystem without attributes
	case err != nil:
		return nil, err
	}
	return buf[:n], nil
}

// oldKernel is set once the kernel turned out not to have listxattrat, which
// is there from 6.13 on. Through /proc a list costs four times as much.
var oldKernel atomic.Bool

func listXattrAt(dir int, name string, buf []byte) (int, error) {
	if oldKernel.Load() {
		return unix.Llistxattr(xattrPath(dir, name), buf)
	}
	p, err := unix.BytePtrFromString(name)
	if err != nil {
		return 0, err
	}
	n, _, errno := unix.Syscall6(unix.SYS_LISTXATTRAT, uintptr(dir), uintptr(unsafe.Pointer(p)),
		unix.AT_SYMLINK_NOFOLLOW, uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)), 0)
	switch errno {
	case 0:
		return int(n), nil
	case unix.ENOSYS, unix.EPERM: // EPERM: a filter that does not know the call
		oldKernel.Store(true)
		return unix.Llistxattr(xattrPath(dir, name), buf)
	}
	return 0, errno
}

// belongs says whether an attribute is the file's: not overlayfs's
// bookkeeping, and not the SELinux label, which follows from where a file
// lies and not from what was done to it.
func (d describer) belongs(name []byte) bool {
	return string(name) != "security.selinux" &&
		(len(name) < len(d.prefix) || string(name[:len(d.prefix)]) != d.prefix)
}

// count is how many of the attributes are the file's own.
func (d describer) count(l nameList) (n int) {
	for name := l.next(); name != nil; name = l.next() {
		if d.belongs(name) {
			n++
		}
	}
	return n
}

// xattrs reads all attributes that belong to a file.
func (d describer) xattrs(dir int, name string) (map[string][]byte, error) {
	l, err := listXattrs(dir, name, new(listBuffer))
	if err != nil || d.count(l) == 0 {
		return nil, err
	}
	all := map[string][]byte{}
	for n := l.next(); n != nil; n = l.next() {
		if !d.belongs(n) {
			continue
		}
		value, err := getXattr(dir, name, string(n))
		if errors.Is(err, unix.ENODATA) {
			continue // removed meanwhile
		}
		if err != nil {
			return nil, err
		}
		all[string(n)] = value
	}
	return all, nil
}

// sameXattrs compares the attributes of the two files, and sees on the way
// whether the box's has its content elsewhere.
func (h *hand) sameXattrs(e *entry) bool {
	ours, _ := listXattrs(e.dir, e.name, &h.lists[0])
	theirs, _ := listXattrs(e.baseDir, e.baseName, &h.lists[1])
	e.metacopy = ours.has(h.w.files.metacopy)
	n := h.w.files.count(ours)
	if n != h.w.files.count(theirs) && !e.isRoot() {
		return false
	}
	if n == 0 {
		return true // most files
	}
	for name := ours.next(); name != nil; name = ours.next() {
		if h.w.files.belongs(name) && !sameValue(e, string(name)) {
			return false
		}
	}
	return true
}

func sameValue(e *entry, name string) bool {
	a, ok := xattr(e.dir, e.name, name)
	if !ok {
		return false
	}
	b, ok := xattr(e.baseDir, e.baseName, name)
	return ok && bytes.Equal(a, b)
}
