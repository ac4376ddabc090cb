package change

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// xattrPath names a file for the calls on extended attributes, which have no
// form that takes a directory. Nothing is opened, so a fifo does not block and
// a device does not wake; the last component is not followed.
func xattrPath(dir int, name string) string {
	return "/proc/self/fd/" + strconv.Itoa(dir) + "/" + name
}

// xattr reads one attribute. What cannot be read is not there.
func xattr(dir int, name, attr string) ([]byte, bool) {
	path := xattrPath(dir, name)
	buf := make([]byte, 256)
	for {
		n, err := unix.Lgetxattr(path, attr, buf)
		if err == nil {
			return buf[:n], true
		}
		if err != unix.ERANGE || len(buf) > 1<<16 {
			return nil, false
		}
		buf = make([]byte, 1<<17) // the kernel's own bound is half of it
	}
}

// xattrNames lists the attributes that belong to the file: not overlayfs's
// bookkeeping, and not the SELinux label, which follows from where a file
// lies and not from what was done to it.
func (w *walker) xattrNames(dir int, name string) []string {
	path := xattrPath(dir, name)
	buf := make([]byte, 1024)
	n, err := unix.Llistxattr(path, buf)
	if err == unix.ERANGE {
		buf = make([]byte, 1<<16) // the kernel's own bound
		n, err = unix.Llistxattr(path, buf)
	}
	if err != nil {
		return nil
	}
	names := strings.FieldsFunc(string(buf[:n]), func(r rune) bool { return r == 0 })
	names = slices.DeleteFunc(names, func(n string) bool {
		return strings.HasPrefix(n, w.src.XattrPrefix) || n == "security.selinux"
	})
	slices.Sort(names)
	return names
}

func (w *walker) sameXattrs(e *entry) bool {
	names := w.xattrNames(e.in.upper, e.name)
	if !slices.Equal(names, w.xattrNames(e.baseDir, e.baseName)) {
		return false
	}
	for _, n := range names {
		a, _ := xattr(e.in.upper, e.name, n)
		b, _ := xattr(e.baseDir, e.baseName, n)
		if !bytes.Equal(a, b) {
			return false
		}
	}
	return true
}
