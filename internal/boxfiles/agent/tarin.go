//go:build linux

package agent

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"path"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/boxfiles"
	"github.com/forkbox/forkbox/internal/holes"
)

// extractor unpacks an archive into one directory and never beside it. An
// archive with a name that leads out is refused where that name comes.
type extractor struct {
	owners bool // those of the archive, and setuid bits
	base   int
	// resolve is how paths of the archive are looked up: beneath the directory.
	// A symlink that leads out of it leads nowhere. Of the root of the box nothing
	// leads out, and there an absolute symlink is what it says.
	resolve uint64
	fresh   bool // the directory was made for it
	dirs    []openedDir
	buf     []byte
	out     boxfiles.Outcome
}

// openedDir is a directory whose mode and time are set once all in it is there.
type openedDir struct {
	name   string
	header *tar.Header
}

// tarIn unpacks what comes into a directory, which is made if it is not there.
func (s *session) tarIn(dir string, req boxfiles.Request) (boxfiles.Outcome, error) {
	x := &extractor{owners: req.Owners}
	if req.Parents {
		if err := os.MkdirAll(path.Dir(path.Clean(dir)), 0o755); err != nil {
			return x.out, err
		}
	}
	if err := x.open(dir); err != nil {
		return x.out, err
	}
	defer unix.Close(x.base)
	if s.Say(boxfiles.Message, boxfiles.Info{}) != nil {
		return x.out, errGone
	}
	in := &body{session: s}
	err := x.unpack(in)
	if err == nil {
		err = in.rest()
	}
	return x.out, err
}

// run unpacks an archive that another part of the agent makes.
func (x *extractor) run(r io.Reader, dir string) error {
	if err := x.open(dir); err != nil {
		return err
	}
	defer unix.Close(x.base)
	return x.unpack(r)
}

func (x *extractor) open(dir string) (err error) {
	x.buf = make([]byte, 64<<10)
	x.resolve = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS
	if path.Clean(dir) == "/" {
		x.resolve = unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS
	}
	err = unix.Mkdir(path.Clean(dir), 0o755)
	x.fresh = err == nil
	if err != nil && !errors.Is(err, unix.EEXIST) {
		return err
	}
	x.base, err = openDir(unix.AT_FDCWD, dir, 0)
	return err
}

// body is the bytes of an archive, as they come in frames.
type body struct {
	*session
	pending []byte
	ended   bool
}

func (b *body) Read(p []byte) (int, error) {
	for len(b.pending) == 0 {
		if b.ended {
			return 0, io.EOF
		}
		kind, piece, err := b.Next()
		switch {
		case err != nil:
			return 0, errGone
		case kind == boxfiles.End:
			b.ended = true
		case kind == boxfiles.Data:
			b.pending = piece
		}
	}
	n := copy(p, b.pending)
	b.pending = b.pending[n:]
	return n, nil
}

// rest reads what archives have after their end.
func (b *body) rest() error {
	_, err := io.Copy(io.Discard, struct{ io.Reader }{b})
	return err
}

func (x *extractor) unpack(r io.Reader) error {
	archive := tar.NewReader(r)
	for {
		h, err := archive.Next()
		switch {
		case err == io.EOF:
			return x.leave("")
		case errors.Is(err, errGone):
			return err
		case err != nil:
			return forkbox.Errorf(forkbox.Invalid, "", "it is no tar archive, or a broken one: %w", err)
		}
		if err := x.entry(h, archive); err != nil {
			if errors.Is(err, errGone) {
				return err
			}
			return at(h.Name, err)
		}
	}
}

// inner is the name of an entry as a path below the directory; "." is itself.
func inner(name string) (string, error) {
	if name == "" || name[0] == '/' || strings.IndexByte(name, 0) >= 0 || len(name) >= boxfiles.MaxPath {
		return "", outside(name)
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." {
			return "", outside(name)
		}
	}
	return path.Clean(name), nil
}

func outside(name string) error {
	return forkbox.Errorf(forkbox.Invalid, "", "the archive has the name %.200q, which leads out of the directory", name).
		Hint("nothing after it was unpacked")
}

func (x *extractor) entry(h *tar.Header, content io.Reader) error {
	name, err := inner(h.Name)
	if err != nil {
		return err
	}
	if err := x.leave(name); err != nil {
		return err
	}
	if h.Typeflag == tar.TypeDir {
		return x.directory(name, h)
	}
	if name == "." {
		return outside(h.Name)
	}
	parent, err := x.parent(name)
	if err != nil {
		return err
	}
	defer unix.Close(parent)
	base := path.Base(name)
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeGNUSparse:
		return x.file(parent, base, h, content)
	case tar.TypeSymlink:
		return x.replace(parent, base, h, func(as string) error { return unix.Symlinkat(h.Linkname, parent, as) })
	case tar.TypeLink:
		return x.hardLink(parent, base, h)
	case tar.TypeFifo:
		return x.replace(parent, base, h, func(as string) error { return unix.Mkfifoat(parent, as, 0o600) })
	case tar.TypeChar, tar.TypeBlock:
		x.skip(h.Name, "a box has no devices but its own")
	default:
		x.skip(h.Name, "it is of a kind that only tar knows")
	}
	return nil
}

func (x *extractor) skip(name, why string) {
	x.out.Count++
	if len(x.out.Skipped) < boxfiles.MaxSkipped {
		x.out.Skipped = append(x.out.Skipped, boxfiles.Skipped{Path: []byte(name), Why: why})
	}
}

// openat2 looks a path up below the directory.
func (x *extractor) openat2(name string, flags uint64) (int, error) {
	how := &unix.OpenHow{Flags: flags | unix.O_CLOEXEC | unix.O_NONBLOCK, Resolve: x.resolve}
	return retry(func() (int, error) {
		for range 100 {
			fd, err := unix.Openat2(x.base, name, how)
			if err != unix.EAGAIN { // something was renamed meanwhile, and the kernel is not sure
				return fd, err
			}
		}
		return -1, unix.EXDEV
	})
}

// parent opens the directory of a name, and makes those that are missing.
func (x *extractor) parent(name string) (int, error) { return x.reach(path.Dir(name)) }

func (x *extractor) reach(dir string) (int, error) {
	fd, err := x.openat2(dir, unix.O_DIRECTORY)
	if dir == "." || !errors.Is(err, unix.ENOENT) {
		return fd, err
	}
	above, err := x.reach(path.Dir(dir))
	if err != nil {
		return -1, err
	}
	err = unix.Mkdirat(above, path.Base(dir), 0o755)
	unix.Close(above)
	if err != nil && !errors.Is(err, unix.EEXIST) {
		return -1, err
	}
	return x.openat2(dir, unix.O_DIRECTORY)
}

// directory makes one, or uses the one that is there. Its mode and time are set
// when all that is below it has been unpacked: it may be that nothing can be
// written into it then.
func (x *extractor) directory(name string, h *tar.Header) error {
	fresh := x.fresh
	if name != "." {
		parent, err := x.parent(name)
		if err != nil {
			return err
		}
		err = unix.Mkdirat(parent, path.Base(name), 0o700)
		unix.Close(parent)
		fresh = err == nil
		if errors.Is(err, unix.EEXIST) {
			var fd int
			if fd, err = x.openat2(name, unix.O_DIRECTORY); err == nil {
				unix.Close(fd)
			}
		}
		if err != nil {
			return err
		}
	}
	if fresh {
		x.dirs = append(x.dirs, openedDir{name, h})
	}
	return nil
}

// leave finishes the directories that a name is not in.
func (x *extractor) leave(name string) error {
	for len(x.dirs) > 0 {
		last := x.dirs[len(x.dirs)-1]
		if name != "" && (last.name == "." || strings.HasPrefix(name, last.name+"/")) {
			return nil
		}
		x.dirs = x.dirs[:len(x.dirs)-1]
		fd, err := x.openat2(last.name, unix.O_DIRECTORY)
		if errors.Is(err, unix.ENOENT) {
			continue // a process of the box took it away
		}
		if err != nil {
			return at(last.name, err)
		}
		dir := os.NewFile(uintptr(fd), last.name)
		err = x.dress(dir, last.header)
		dir.Close()
		if err != nil {
			return at(last.name, err)
		}
	}
	return nil
}

// file unpacks a regular file, which has its name once it is whole.
func (x *extractor) file(parent int, base string, h *tar.Header, content io.Reader) error {
	d, err := newDraft(parent)
	if err != nil {
		return err
	}
	defer d.discard()
	if err := holes.Copy(d.File, content); err != nil {
		return err
	}
	if err := x.dress(d.File, h); err != nil {
		return err
	}
	return d.place(base, false)
}

// dress gives what was unpacked its owner, attributes, mode and time.
func (x *extractor) dress(f *os.File, h *tar.Header) error {
	fd, mode := int(f.Fd()), uint32(h.Mode)&0o7777
	if x.owners && os.Getuid() == 0 {
		if err := unix.Fchown(fd, h.Uid, h.Gid); err != nil {
			return err
		}
	}
	if !x.owners {
		mode &= 0o1777
	}
	for name, value := range h.PAXRecords {
		if name, ok := strings.CutPrefix(name, xattrPrefix); ok && strings.HasPrefix(name, userAttribute) {
			_ = unix.Fsetxattr(fd, name, []byte(value), 0) // not every filesystem has them
		}
	}
	if err := unix.Fchmod(fd, mode); err != nil {
		return err
	}
	return setTime(f, h.ModTime)
}

// replace makes something under another name, and then has it replace what is
// there, unless that is a directory.
func (x *extractor) replace(parent int, base string, h *tar.Header, create func(as string) error) error {
	as := draftName()
	if err := create(as); err != nil {
		return err
	}
	err := x.dressLink(parent, as, h)
	if err == nil {
		err = unix.Renameat(parent, as, parent, base)
	}
	if err != nil {
		_ = unix.Unlinkat(parent, as, 0)
	}
	return err
}

// dressLink is dress for what cannot be opened.
func (x *extractor) dressLink(parent int, name string, h *tar.Header) error {
	if x.owners && os.Getuid() == 0 {
		if err := unix.Fchownat(parent, name, h.Uid, h.Gid, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return err
		}
	}
	if h.Typeflag == tar.TypeFifo {
		if err := unix.Fchmodat(parent, name, uint32(h.Mode)&0o777, 0); err != nil {
			return err
		}
	}
	return unix.UtimesNanoAt(parent, name, times(h.ModTime), unix.AT_SYMLINK_NOFOLLOW)
}

// times has the time of the last access stay what it is.
func times(modified time.Time) []unix.Timespec {
	return []unix.Timespec{{Nsec: unix.UTIME_OMIT}, unix.NsecToTimespec(modified.UnixNano())}
}

// hardLink gives a file that was unpacked before another name.
func (x *extractor) hardLink(parent int, base string, h *tar.Header) error {
	target, err := inner(h.Linkname)
	if err != nil {
		return err
	}
	dir, err := x.openat2(path.Dir(target), unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	as := draftName()
	if err := unix.Linkat(dir, path.Base(target), parent, as, 0); err != nil {
		return err
	}
	err = unix.Renameat(parent, as, parent, base)
	// Where both were names of one file, the kernel has nothing to do, and both stay.
	_ = unix.Unlinkat(parent, as, 0)
	return err
}
