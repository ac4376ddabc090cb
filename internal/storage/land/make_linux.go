package land

import (
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"path"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox/internal/storage/land/files"
	"github.com/forkbox/forkbox/internal/storage/land/sums"
)

// make creates what a put puts, in its slot.
func (l *Landing) make(r *record, it *Item, src *source) error {
	dir, name, err := l.yard.of(r).slot(r.Slot)
	if err != nil {
		return err
	}
	if it.Link != "" {
		if linked, err := l.link(r, it, dir, name); linked || err != nil {
			return err
		}
	}
	switch mode := files.KernelMode(it.Node.Mode); mode & unix.S_IFMT {
	case unix.S_IFREG:
		return l.makeFile(r, it, src, dir, name)
	case unix.S_IFDIR:
		err = files.Mkdir(dir, name)
	case unix.S_IFLNK:
		r.Target = it.Node.Target
		sum := sha256.Sum256([]byte(r.Target))
		r.Sum = sum[:]
		err = files.Act("symlink", func() error { return unix.Symlinkat(r.Target, dir, name) })
	default:
		err = files.Act("mknod", func() error { return unix.Mknodat(dir, name, mode&unix.S_IFMT|0o600, int(it.Node.Rdev)) })
	}
	if err == nil && !it.Node.Mode.IsDir() {
		err = l.finish(r, it)
	}
	if err != nil {
		return err
	}
	if r.New, err = files.Lstat(dir, name); err == nil && r.New != nil {
		r.New.Xattrs = files.Packed(it.Node.Xattrs)
	}
	return err
}

func (l *Landing) makeFile(r *record, it *Item, src *source, dir int, name string) error {
	f, err := files.Create(dir, name)
	if err != nil {
		return err
	}
	defer f.Close()
	if r.Sum, err = src.copyTo(f, l.yard.of(r)); err != nil {
		return err
	}
	if err := dress(files.Handle{Fd: int(f.Fd()), Real: true}, r, it); err != nil {
		return err
	}
	if r.New, err = files.Fstat(int(f.Fd())); err == nil {
		r.New.Xattrs = files.Packed(it.Node.Xattrs)
	}
	return err
}

// finish gives what was staged its attributes.
func (l *Landing) finish(r *record, it *Item) error {
	dir, name, err := l.yard.of(r).slot(r.Slot)
	if err != nil {
		return failed(opLand, it.Path, err)
	}
	fd, err := files.Open(dir, name, unix.O_PATH)
	if err != nil {
		return failed(opLand, it.Path, err)
	}
	defer unix.Close(fd)
	return failed(opLand, it.Path, dress(files.Handle{Fd: fd}, r, it))
}

// link makes a put a hard link. It says no when that cannot be done and there
// is content to use instead.
func (l *Landing) link(r *record, it *Item, dir int, name string) (bool, error) {
	if s, ok := l.spots[it.Link]; ok {
		from, base, err := l.yard.slot(s)
		if err != nil {
			return false, err
		}
		if err := files.Linkat(from, base, dir, name); err != nil && !l.instead(it, err) {
			return false, err
		} else if err != nil {
			return false, nil
		}
		r.Sum = s.sum
		r.New, err = files.Look(dir, name)
		return true, err
	}
	err := l.linkInTree(r, it, dir)
	if err != nil && l.instead(it, err) {
		return false, nil
	}
	return err == nil, err
}

// instead says whether a link that failed can be a file of its own.
func (l *Landing) instead(it *Item, err error) bool {
	for _, e := range []error{unix.EXDEV, unix.EPERM, unix.EACCES, unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.EMLINK, unix.ESTALE} {
		if errors.Is(err, e) {
			return it.Content != nil || it.Bytes != nil || !it.Node.Mode.IsRegular()
		}
	}
	return false
}

// sumOf reads what a symlink or regular file consists of.
func sumOf(dir int, name string, o *files.Object) (sum []byte, target string, err error) {
	switch {
	case o.IsSymlink():
		if target, err = files.Readlink(dir, name); err != nil {
			return nil, "", err
		}
		s := sha256.Sum256([]byte(target))
		return s[:], target, nil
	case !o.IsRegular():
		return nil, "", nil
	}
	// O_NONBLOCK: it may be a fifo by now.
	fd, err := files.Open(dir, name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY)
	if err != nil {
		return nil, "", err
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	s, err := sums.Of(context.Background(), f)
	return s[:], "", err
}

// linkInTree plans a link to a file that stays where it is. The link itself is
// made by makeLinks: another name changes the inode's time, and until the
// landing is decided nothing in the tree may change. The content is read: the
// caller has to know what it is that lands.
func (l *Landing) linkInTree(r *record, it *Item, slotDir int) error {
	at := l.located(it.Link)
	from, base, err := l.tree.Parent(at)
	if err != nil {
		return err
	}
	target, err := files.Lstat(from, base)
	if err != nil {
		return err
	}
	switch in, err := files.Fstat(slotDir); {
	case err != nil:
		return err
	case target == nil || target.Format() != files.KernelMode(it.Node.Mode)&unix.S_IFMT:
		return unix.ENOENT
	case in.Dev != target.Dev:
		return unix.EXDEV
	case l.site.caller() != 0 && uint32(l.site.caller()) != target.UID:
		return unix.EPERM // as many systems say to who would link what is not theirs
	}
	if r.New, err = files.Look(from, base); err != nil {
		return err
	}
	if r.Sum, r.Target, err = sumOf(from, base, r.New); err != nil {
		return err
	}
	r.Link = at
	l.links = append(l.links, r)
	return nil
}

// makeLinks makes the links that were planned.
func (l *Landing) makeLinks() error {
	for _, r := range l.links {
		if err := l.makeLink(r); err != nil {
			return failed(opLand, r.Path, err)
		}
	}
	return nil
}

func (l *Landing) makeLink(r *record) error {
	from, base, err := l.tree.Parent(r.Link)
	if err != nil {
		return err
	}
	now, err := files.Lstat(from, base)
	if err != nil {
		return err
	}
	if !r.New.Is(now) || now.Ctime != r.New.Ctime && !l.hand.hasTouched(now) {
		return conflict(opLand, r.Path, "what it is a link to changed meanwhile")
	}
	l.hand.willTouch(now)
	dir, name, err := l.yard.of(r).slot(r.Slot)
	if err != nil {
		return err
	}
	return l.inside(dir, r, func() error { return files.Linkat(from, base, dir, name) })
}

// inside adds something to a staged directory that has its attributes already,
// and gives it back the time that it had.
func (l *Landing) inside(dir int, r *record, add func() error) error {
	if !r.Inside {
		return add()
	}
	parent, name, err := l.yard.of(r).slot(path.Dir(r.Slot))
	if err != nil {
		return err
	}
	before, err := files.Lstat(parent, name)
	if err != nil || before == nil {
		return errors.Join(err, unix.ENOENT)
	}
	h := files.Handle{Fd: dir}
	if err := h.Writable(add); err != nil {
		return err
	}
	times := []unix.Timespec{{Nsec: unix.UTIME_OMIT}, unix.NsecToTimespec(before.Mtime)}
	return files.Act("utimes", func() error { return unix.UtimesNanoAt(dir, "", times, unix.AT_EMPTY_PATH) })
}

// source is the content of a regular file that is put.
type source struct {
	ctx  context.Context
	item *Item
	file *os.File
}

// open calls Content, when a file is to be made of it.
func (s *source) open() (err error) {
	if s.item.Op != Put || !s.item.Node.Mode.IsRegular() || s.item.Content == nil {
		return nil
	}
	s.file, err = s.item.Content()
	return failed(opLand, s.item.Path, err)
}

func (s *source) close() {
	if s.file != nil {
		s.file.Close()
	}
}

// copyTo writes the content to a new file and tells the sum of it.
func (s *source) copyTo(dst *os.File, p *place) ([]byte, error) {
	if s.file == nil {
		sum := sums.OfBytes(s.item.Bytes)
		return sum[:], writeAt(dst, s.item.Bytes, 0)
	}
	if s.clone(dst, p) {
		sum, err := sums.Of(s.ctx, dst)
		return sum[:], err
	}
	c := &copier{ctx: s.ctx, src: s.file, dst: dst, sum: sums.New()}
	if err := c.run(); err != nil {
		return nil, err
	}
	sum := c.sum.Sum()
	return sum[:], nil
}

// clone shares the blocks of the source, where the filesystem can do that.
func (s *source) clone(dst *os.File, p *place) bool {
	from, err := files.Fstat(int(s.file.Fd()))
	if err != nil || from.Size == 0 || p.noClone[from.Dev] {
		return false
	}
	err = files.Act("clone", func() error { return unix.IoctlFileClone(int(dst.Fd()), int(s.file.Fd())) })
	if err != nil {
		if p.noClone == nil {
			p.noClone = map[uint64]bool{}
		}
		p.noClone[from.Dev] = true
	}
	return err == nil
}

// copier copies a file and leaves holes where it has holes.
type copier struct {
	ctx      context.Context
	src, dst *os.File
	sum      *sums.Hash
	buf      []byte
	at       int64
}

func (c *copier) run() error {
	from, err := files.Fstat(int(c.src.Fd()))
	if err != nil {
		return err
	}
	c.buf = make([]byte, min(max(from.Size+1, 512), 256<<10))
	for {
		data, err := unix.Seek(int(c.src.Fd()), c.at, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			return c.hole(from.Size) // nothing but a hole is left, or nothing
		}
		hole := int64(1<<63 - 1) // a filesystem that does not know of holes
		if err == nil {
			if err := c.hole(data); err != nil {
				return err
			}
			if hole, err = unix.Seek(int(c.src.Fd()), data, unix.SEEK_HOLE); err != nil {
				return err
			}
		}
		if end, err := c.data(hole); end || err != nil {
			return err
		}
	}
}

// hole skips to an offset, and has the sum know of the zeros.
func (c *copier) hole(to int64) error {
	if to <= c.at {
		return nil
	}
	c.sum.Hole(to - c.at)
	c.at = to
	return files.Act("truncate", func() error { return c.dst.Truncate(c.at) })
}

// data copies up to an offset, and says whether the file ended.
func (c *copier) data(to int64) (end bool, err error) {
	for c.at < to {
		if err := c.ctx.Err(); err != nil {
			return false, err
		}
		n, err := c.src.ReadAt(c.buf[:min(int64(len(c.buf)), to-c.at)], c.at)
		c.sum.Write(c.buf[:n])
		if werr := writeAt(c.dst, c.buf[:n], c.at); werr != nil {
			return false, werr
		}
		c.at += int64(n)
		if err == io.EOF {
			return true, nil
		}
		if err != nil {
			return false, err
		}
	}
	return false, nil
}

func writeAt(f *os.File, p []byte, at int64) error {
	if len(p) == 0 {
		return nil
	}
	return files.Act("write", func() error {
		_, err := f.WriteAt(p, at)
		return err
	})
}
