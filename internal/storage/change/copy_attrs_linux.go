package change

import (
	"errors"
	"strings"

	"golang.org/x/sys/unix"
)

// attributes gives a copy the owner, extended attributes, mode and times of the
// original. In this order: a new owner takes capabilities and setuid bits away,
// and without the right to write no attribute can be set.
func (c *copier) attributes(dir int, name string, f file, into int, to string) error {
	if err := c.own(f, into, to); err != nil {
		return err
	}
	if err := c.xattrs(dir, name, into, to); err != nil {
		return err
	}
	return c.permit(f, into, to)
}

// plain leaves the extended attributes out.
func (c *copier) plain(f file, into int, to string) error {
	if err := c.own(f, into, to); err != nil {
		return err
	}
	return c.permit(f, into, to)
}

func (c *copier) own(f file, into int, to string) error {
	if c.ignoreOwner {
		return nil
	}
	now, err := lstat(into, to)
	if err != nil || now.Uid == f.Uid && now.Gid == f.Gid {
		return err
	}
	return unix.Fchownat(into, to, int(f.Uid), int(f.Gid), unix.AT_SYMLINK_NOFOLLOW)
}

// permit sets mode and times. It is the new file that is meant: no other process
// writes to where it is made.
func (c *copier) permit(f file, into int, to string) error {
	if f.format() != unix.S_IFLNK {
		if err := unix.Fchmodat(into, to, f.perm(), 0); err != nil {
			return err
		}
	}
	return unix.UtimesNanoAt(into, to, []unix.Timespec{f.Atim, f.Mtim}, unix.AT_SYMLINK_NOFOLLOW)
}

func (c *copier) xattrs(dir int, name string, into int, to string) error {
	l, err := listXattrs(dir, name, new(listBuffer))
	if err != nil {
		return err
	}
	for attr := l.next(); attr != nil; attr = l.next() {
		if !c.keeps(string(attr)) {
			continue
		}
		value, err := getXattr(dir, name, string(attr))
		if errors.Is(err, unix.ENODATA) {
			continue // removed meanwhile
		}
		if err == nil {
			err = unix.Lsetxattr(xattrPath(into, to), string(attr), value, 0)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// keeps says whether an attribute belongs to a copy: overlayfs's own do not,
// but what a program in the box wrote that looks like them does, which
// overlayfs keeps under a longer name. The SELinux label follows from where a
// file lies.
func (c *copier) keeps(attr string) bool {
	own, is := strings.CutPrefix(attr, c.prefix)
	switch {
	case attr == "security.selinux":
		return false
	case !is:
		return true
	}
	return strings.HasPrefix(own, "overlay.") || own == "origin" && c.notes
}
