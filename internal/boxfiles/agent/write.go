//go:build linux

package agent

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/boxfiles"
	"github.com/forkbox/forkbox/internal/holes"
)

// draft is a file that is written beside the one it will be. Where the filesystem
// can do so it has no name until it is whole, so that whatever ends the agent
// leaves nothing behind.
type draft struct {
	*os.File
	dir  int    // of the directory it will be in
	name string // it has now; empty where it has none
}

// newDraft makes one in a directory.
func newDraft(dir int) (*draft, error) {
	fd, err := retry(func() (int, error) {
		return unix.Openat(dir, ".", unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	})
	if err == nil {
		return &draft{File: os.NewFile(uintptr(fd), "draft"), dir: dir}, nil
	}
	if !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.EISDIR) && !errors.Is(err, unix.EINVAL) {
		return nil, err
	}
	name := draftName()
	fd, err = retry(func() (int, error) {
		return unix.Openat(dir, name, unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	})
	if err != nil {
		return nil, err
	}
	return &draft{File: os.NewFile(uintptr(fd), "draft"), dir: dir, name: name}, nil
}

// draftName is one that no file has.
func draftName() string { return ".forkbox-" + rand.Text() + ".part" }

// discard is in vain once the draft has its name.
func (d *draft) discard() {
	if d.name != "" {
		_ = unix.Unlinkat(d.dir, d.name, 0)
	}
	d.Close()
}

// place gives the draft its name. Only where it must be new may nothing have that yet.
func (d *draft) place(name string, mustBeNew bool) error {
	if d.name == "" {
		as := name
		if !mustBeNew {
			as = draftName() // a link replaces nothing
		}
		if err := d.link(as); err != nil {
			return err
		}
		if mustBeNew {
			return nil
		}
		d.name = as
	}
	flags := uint(0)
	if mustBeNew {
		flags = unix.RENAME_NOREPLACE
	}
	err := unix.Renameat2(d.dir, d.name, d.dir, name, flags)
	if err == nil {
		d.name = ""
	}
	return err
}

// link names a draft that has no name.
func (d *draft) link(name string) error {
	err := unix.Linkat(int(d.Fd()), "", d.dir, name, unix.AT_EMPTY_PATH)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EPERM) { // older kernels want a capability for it
		return unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", d.Fd()), d.dir, name, unix.AT_SYMLINK_FOLLOW)
	}
	return err
}

// write replaces a file, or makes one, once all of it has come.
func (s *session) write(name string, req boxfiles.Request) (info boxfiles.Info, err error) {
	dir, base, err := openParent(name, req.Parents)
	if err != nil {
		return info, err
	}
	defer unix.Close(dir)
	if err := checkReplaced(dir, base, req, nil); err != nil {
		return info, err
	}
	d, err := newDraft(dir)
	if err != nil {
		return info, err
	}
	defer d.discard()
	if s.Say(boxfiles.Message, boxfiles.Info{}) != nil {
		return info, errGone
	}
	if err := holes.Copy(d.File, &body{session: s}); err != nil {
		return info, err
	}
	s.replacing.Lock()
	defer s.replacing.Unlock()
	if err := checkReplaced(dir, base, req, d); err != nil {
		return info, err
	}
	if err := d.place(base, req.New); err != nil {
		return info, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(d.Fd()), &st); err != nil {
		return info, err
	}
	return describe([]byte(name), &st), nil
}

// checkReplaced looks at what a write would replace: nothing, or a regular file
// that is as the caller believes. With a draft it has that one take over its mode and
// owner, as far as the caller did not say them.
func checkReplaced(dir int, base string, req boxfiles.Request, d *draft) error {
	st, err := statAt(dir, base)
	there := err == nil
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return err
	}
	switch {
	case there && req.New:
		return unix.EEXIST
	case there && onlyFile(&st) != nil:
		return onlyFile(&st)
	case req.Match != "" && !there:
		return forkbox.Errorf(forkbox.Conflict, "", "it is not there any more")
	case req.Match != "" && req.Match != "*" && req.Match != tag(&st):
		return forkbox.Errorf(forkbox.Conflict, "", "it was changed meanwhile").
			Hint("read it again; its tag is now %q", tag(&st))
	}
	if d == nil {
		return nil
	}
	return d.dress(req, there, &st)
}

// dress gives a draft its owner, mode and time.
func (d *draft) dress(req boxfiles.Request, there bool, old *unix.Stat_t) error {
	mode := uint32(0o644)
	if there {
		mode = old.Mode & 0o7777
		if int(old.Uid) != os.Getuid() || int(old.Gid) != os.Getgid() {
			if err := d.Chown(int(old.Uid), int(old.Gid)); err != nil && !errors.Is(err, unix.EPERM) {
				return err
			}
		}
	}
	if req.Mode != nil {
		mode = *req.Mode & 0o7777
	}
	if err := unix.Fchmod(int(d.Fd()), mode); err != nil {
		return err
	}
	if req.Modified != nil {
		return setTime(d.File, *req.Modified)
	}
	return nil
}

func setTime(f *os.File, to time.Time) error {
	return unix.UtimesNanoAt(int(f.Fd()), "", times(to), unix.AT_EMPTY_PATH)
}

// mostLinks is how many symlinks a write follows, as the kernel does.
const mostLinks = 40

// openParent opens the directory in which a path's last name is, which is none of
// a symlink: what a symlink leads to is written, and the link stays.
func openParent(name string, parents bool) (dir int, base string, err error) {
	for range mostLinks {
		parent, base := path.Split(name)
		if base == "" || base == "." || base == ".." {
			return -1, "", unix.EISDIR
		}
		if parents {
			if err := os.MkdirAll(parent, 0o755); err != nil {
				return -1, "", err
			}
		}
		dir, err := openDir(unix.AT_FDCWD, parent, 0)
		if err != nil {
			return -1, "", err
		}
		st, err := statAt(dir, base)
		if err != nil || typeOf(&st) != boxfiles.Symlink {
			return dir, base, nil
		}
		target := string(readLink(dir, base))
		unix.Close(dir)
		if target == "" {
			return -1, "", unix.ENOENT
		}
		if target[0] != '/' {
			target = parent + target // not cleaned: a symlink may be above ".."
		}
		name = target
	}
	return -1, "", unix.ELOOP
}

// openDir opens a directory.
func openDir(dir int, name string, flags int) (int, error) {
	return retry(func() (int, error) {
		return unix.Openat(dir, name, flags|unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	})
}
