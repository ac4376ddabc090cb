package oci

import (
	"archive/tar"
	"cmp"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/linux"
)

const capability = "security.capability"

// rights are what this process may give to files, and on whose behalf.
type rights struct {
	chown    bool // owners can be set
	lend     bool // files may be setuid, setgid, and have capabilities
	uid, gid int  // of every file, unless lend
}

func rightsOf(owner *forkbox.Owner) rights {
	root := os.Geteuid() == 0
	if owner == nil {
		return rights{chown: root, lend: root}
	}
	return rights{chown: root, uid: owner.UID, gid: owner.GID}
}

// attrs are what a file has besides its content.
type attrs struct {
	mode     uint32
	uid, gid int
	mtime    time.Time // as it comes if zero
	xattrs   map[string]string
}

// pending is a directory that gets its attributes at the end.
type pending struct {
	path string // real and absolute
	id   inode
	attrs
}

func (u *unpacker) attrsOf(h *tar.Header) (attrs, error) {
	a := attrs{mode: uint32(h.Mode) & 0o7777, uid: h.Uid, gid: h.Gid, mtime: h.ModTime}
	if !u.rights.lend {
		a.mode &^= unix.S_ISUID | unix.S_ISGID
		a.uid, a.gid = u.rights.uid, u.rights.gid
	}
	if !validID(a.uid) || !validID(a.gid) {
		return a, refused(h.Name, "it is owned by a user or group id that cannot exist")
	}
	for key, value := range h.PAXRecords {
		if name, ok := strings.CutPrefix(key, schily); ok && u.wanted(name) {
			if a.xattrs == nil {
				a.xattrs = map[string]string{}
			}
			a.xattrs[name] = value
		}
	}
	return a, nil
}

// validID: the highest number means "leave it" to the kernel.
func validID(id int) bool { return id >= 0 && int64(id) < 1<<32-1 }

// wanted says which attributes are taken over. Those of overlayfs never are:
// they would have it look for files where the archive wants.
func (u *unpacker) wanted(name string) bool {
	switch {
	case strings.HasPrefix(name, "trusted.overlay."), strings.HasPrefix(name, "user.overlay."):
		return false
	case strings.HasPrefix(name, "user."), strings.HasPrefix(name, "system.posix_acl_"):
		return true
	}
	return u.rights.lend && (name == capability || strings.HasPrefix(name, "trusted."))
}

// remember has a directory get its attributes at the end.
func (u *unpacker) remember(s *spot, a attrs) error {
	fd, err := open(s.dir, s.name, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	id, err := identify(fd)
	if err != nil {
		return err
	}
	// Where it really is: the path in the archive may lead through symlinks
	// that will have changed by then. Also what bounds how deep symlinks in
	// symlinks can nest directories.
	path, err := os.Readlink(linux.ProcPath(fd))
	if err != nil {
		return err
	}
	u.folders[id] = &pending{path: path, id: id, attrs: a}
	return nil
}

func deepestFirst(folders map[inode]*pending) []*pending {
	return slices.SortedFunc(maps.Values(folders), func(a, b *pending) int { return cmp.Compare(b.path, a.path) })
}

func (u *unpacker) dressFolder(p *pending) error {
	fd, err := linux.OpenAt(unix.AT_FDCWD, p.path, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW, unix.RESOLVE_NO_SYMLINKS)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if id, err := identify(fd); err != nil || id != p.id {
		return errors.Join(err, errors.New("it was replaced meanwhile"))
	}
	return u.dress(fd, p.attrs, unix.S_IFDIR)
}

func (u *unpacker) dressName(s *spot, a attrs, format uint32) error {
	fd, err := open(s.dir, s.name, unix.O_PATH)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return u.dress(fd, a, format)
}

// dress gives an open file its attributes. The order matters: chown clears
// setuid and capabilities, chmod rewrites an ACL.
func (u *unpacker) dress(fd int, a attrs, format uint32) error {
	if u.rights.chown {
		if err := unix.Fchownat(fd, "", a.uid, a.gid, unix.AT_EMPTY_PATH); err != nil {
			return err
		}
	}
	// A user's attributes are guarded by the mode, which may forbid them.
	if err := u.setXattrs(fd, a.xattrs, false); err != nil {
		return err
	}
	if format != unix.S_IFLNK {
		if err := unix.Fchmodat(unix.AT_FDCWD, linux.ProcPath(fd), a.mode, 0); err != nil {
			return err
		}
	}
	if err := u.setXattrs(fd, a.xattrs, true); err != nil {
		return err
	}
	if a.mtime.IsZero() {
		return nil
	}
	mtime := unix.Timespec{Sec: a.mtime.Unix(), Nsec: int64(a.mtime.Nanosecond())}
	return unix.UtimesNanoAt(fd, "", []unix.Timespec{mtime, mtime}, unix.AT_EMPTY_PATH)
}

// setXattrs sets those attributes that have to be set before the mode is, or
// those after it.
func (u *unpacker) setXattrs(fd int, xattrs map[string]string, after bool) error {
	for _, name := range slices.Sorted(maps.Keys(xattrs)) {
		if strings.HasPrefix(name, "user.") == after {
			continue
		}
		err := unix.Setxattr(linux.ProcPath(fd), name, []byte(xattrs[name]), 0)
		switch {
		case errors.Is(err, unix.ENOTSUP), errors.Is(err, unix.EPERM), errors.Is(err, unix.E2BIG), errors.Is(err, unix.ENOSPC), errors.Is(err, unix.ERANGE):
			u.out.Left.Xattrs++ // this filesystem, or this kind of file, cannot have it
		case errors.Is(err, unix.EINVAL):
			return refused(name, "it is an attribute that the kernel does not understand")
		case err != nil:
			return err
		}
	}
	return nil
}
