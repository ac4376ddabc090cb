package copying

import (
	"bytes"
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox/internal/linux"
	"github.com/forkbox/forkbox/internal/storage/filecopy"
)

// inode names a file whatever its names are.
type inode struct{ dev, ino uint64 }

// mark tells whether a file has changed since.
type mark struct {
	inode
	size           int64
	changed, wrote unix.Timespec
	young          bool // it may change again and have the same times
}

func markOf(st *unix.Stat_t) mark {
	return mark{inode{uint64(st.Dev), st.Ino}, st.Size, st.Ctim, st.Mtim, false}
}

// since says whether what is written from now on gets other times than the file
// has. The kernel stamps files by a clock that ticks, and some filesystems keep
// no more than the second.
func (k mark) since(now unix.Timespec) mark {
	if k.changed.Nsec == 0 {
		now.Sec -= 2
	}
	k.young = !earlier(k.changed, now) || !earlier(k.wrote, now)
	return k
}

func earlier(a, b unix.Timespec) bool { return a.Sec < b.Sec || a.Sec == b.Sec && a.Nsec < b.Nsec }

// stampNow is what the kernel would stamp a file with.
func stampNow() (now unix.Timespec) {
	_ = unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &now)
	return now
}

// same says whether the copy is like a file that has this mark now. One that was
// never seen has no mark.
func (k mark) same(now mark) bool { return !k.young && k == now }

// file makes a file or a symlink like another, or one with the copy of it if it is
// there under another name.
func (m *mirror) file(src, dst place, st *unix.Stat_t) error {
	id := markOf(st).inode
	if first, linked := m.links[id]; linked {
		return m.link(first, dst)
	}
	do := m.symlink
	if st.Mode&unix.S_IFMT == unix.S_IFREG {
		do = m.regular
	}
	if err := do(src, dst, st); err != nil {
		return err
	}
	if st.Nlink > 1 {
		m.links[id] = dst.path
	}
	return nil
}

// regular makes a file like another, unless it is.
func (m *mirror) regular(src, dst place, st *unix.Stat_t) error {
	m.files++
	m.bytes += st.Size
	now := markOf(st)
	was := m.seen[src.path]
	if was.same(now) && !m.mapped[src.path] {
		m.next[src.path] = was
	} else {
		m.looked += st.Size
		is, err := m.update(src, dst, was)
		if err != nil {
			return err
		}
		m.next[src.path] = is
	}
	m.step(st.Size)
	return nil
}

// link gives the copy of a file one more name.
func (m *mirror) link(first string, dst place) error {
	var a, b unix.Stat_t
	if err := unix.Lstat(first, &a); err != nil {
		return err
	}
	if err := unix.Fstatat(dst.dir, dst.name, &b, unix.AT_SYMLINK_NOFOLLOW); err == nil && a.Dev == b.Dev && a.Ino == b.Ino {
		return nil
	}
	if err := dst.clear(); err != nil {
		return err
	}
	return unix.Linkat(unix.AT_FDCWD, first, dst.dir, dst.name, 0)
}

// update brings the copy of a file up to date, and says what the file was when
// that began: whatever is written to it from then on, the next pass sees.
func (m *mirror) update(src, dst place, was mark) (mark, error) {
	in, err := openQuietly(src)
	if err != nil {
		return mark{}, changing(err)
	}
	defer unix.Close(in)
	now := stampNow()
	attrs, err := filecopy.Handle{FD: in, Real: true}.Read(m.buf)
	if err != nil {
		return mark{}, err
	}
	if attrs.Stat.Mode&unix.S_IFMT != unix.S_IFREG {
		return mark{}, errChanging
	}
	is := markOf(&attrs.Stat).since(now)
	out, fresh, err := dst.openFile(was.inode == is.inode)
	if err != nil {
		return mark{}, err
	}
	defer unix.Close(out)
	switch {
	case fresh:
		err = m.fill(out, in, attrs.Stat.Size)
	case m.share == mustShare:
		err = m.shareAgain(out, in, attrs.Stat.Size)
	default:
		err = m.patch(out, in, attrs.Stat.Size)
	}
	if err != nil {
		return mark{}, changing(err)
	}
	return is, filecopy.Handle{FD: out, Real: true}.Redress(attrs, m.buf)
}

// openQuietly leaves the time of access alone, where it may.
func openQuietly(p place) (int, error) {
	const flags = unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_NOFOLLOW
	fd, err := linux.OpenAt(p.dir, p.name, flags|unix.O_NOATIME, linux.Beneath)
	if errors.Is(err, unix.EPERM) {
		return linux.OpenAt(p.dir, p.name, flags, linux.Beneath)
	}
	return fd, err
}

// openFile opens a copy to be written to, and has it be a file of its own: one
// with other names may only be written to if it is the copy of what it was a copy
// of before. Those of its names that are another file by now get their own.
func (p place) openFile(sameFile bool) (fd int, fresh bool, err error) {
	fd, err = p.openWritable()
	if err == nil {
		var st unix.Stat_t
		err = unix.Fstat(fd, &st)
		if err == nil && st.Mode&unix.S_IFMT == unix.S_IFREG && (st.Nlink == 1 || sameFile) {
			return fd, false, nil
		}
		unix.Close(fd)
	}
	if err := p.clear(); err != nil {
		return -1, false, err
	}
	fd, err = unix.Openat(p.dir, p.name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	return fd, true, err
}

// openWritable opens a copy, also where its mode does not let its owner write.
func (p place) openWritable() (int, error) {
	const flags = unix.O_RDWR | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC
	fd, err := unix.Openat(p.dir, p.name, flags, 0)
	if errors.Is(err, unix.EACCES) && unix.Fchmodat(p.dir, p.name, 0o600, 0) == nil {
		return unix.Openat(p.dir, p.name, flags, 0)
	}
	return fd, err
}

// fill gives a new file its content.
func (m *mirror) fill(out, in int, size int64) error {
	if m.share == neverShare || size == 0 {
		return filecopy.Copy(m.ctx, out, in, size)
	}
	err := filecopy.Share(out, in)
	switch {
	case err == nil:
		return nil
	case m.share == mustShare && errors.Is(err, unix.EINVAL):
		return filecopy.ErrNoSharing // a file that is not to be copied on write
	case m.share == mustShare, !errors.Is(err, filecopy.ErrNoSharing) && !errors.Is(err, unix.EINVAL):
		return err
	}
	return filecopy.Copy(m.ctx, out, in, size)
}

// shareAgain gives a copy the blocks that its file has now.
func (m *mirror) shareAgain(out, in int, size int64) error {
	if err := unix.Ftruncate(out, size); err != nil || size == 0 {
		return err
	}
	return m.fill(out, in, size)
}

// Content is read in pieces, and written by the block.
const (
	piece = 256 << 10
	block = 8 << 10
)

// patch writes those blocks of a file that differ, and makes the holes.
func (m *mirror) patch(out, in int, size int64) error {
	if err := unix.Ftruncate(out, size); err != nil {
		return err
	}
	for at := int64(0); at < size; {
		data, hole := nextData(in, at, size)
		if err := empty(out, at, data); err != nil {
			return err
		}
		if err := m.patchRange(out, in, data, hole); err != nil {
			return err
		}
		at = hole
	}
	return nil
}

// nextData is where data begins and ends. A filesystem that does not know of
// holes has data everywhere.
func nextData(fd int, at, size int64) (from, to int64) {
	from, err := unix.Seek(fd, at, unix.SEEK_DATA)
	if errors.Is(err, unix.ENXIO) {
		return size, size
	}
	if err != nil {
		return at, size
	}
	to, err = unix.Seek(fd, from, unix.SEEK_HOLE)
	if err != nil {
		to = size
	}
	return min(from, size), min(to, size)
}

// empty makes a hole, if there is data.
func empty(fd int, from, to int64) error {
	if from >= to {
		return nil
	}
	if data, err := unix.Seek(fd, from, unix.SEEK_DATA); err == nil && data >= to || errors.Is(err, unix.ENXIO) {
		return nil
	}
	err := unix.Fallocate(fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, from, to-from)
	if !errors.Is(err, unix.EOPNOTSUPP) {
		return err
	}
	zeros := make([]byte, block)
	for ; from < to; from += block {
		if err := filecopy.WriteAll(fd, zeros[:min(block, to-from)], from); err != nil {
			return err
		}
	}
	return nil
}

func (m *mirror) patchRange(out, in int, from, to int64) error {
	for from < to {
		if err := m.ctx.Err(); err != nil {
			return err
		}
		want := m.a[:min(piece, to-from)]
		if err := readFull(in, want, from); err != nil {
			return err
		}
		if err := patchPiece(out, want, m.b[:len(want)], from); err != nil {
			return err
		}
		from += int64(len(want))
	}
	return nil
}

func patchPiece(out int, want, has []byte, at int64) error {
	if err := readFull(out, has, at); err != nil {
		return err
	}
	if bytes.Equal(want, has) {
		return nil
	}
	for i := 0; i < len(want); i += block {
		end := min(i+block, len(want))
		if bytes.Equal(want[i:end], has[i:end]) {
			continue
		}
		if err := filecopy.WriteAll(out, want[i:end], at+int64(i)); err != nil {
			return err
		}
	}
	return nil
}

func readFull(fd int, p []byte, at int64) error {
	for len(p) > 0 {
		n, err := unix.Pread(fd, p, at)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return os.NewSyscallError("read", err)
		case n == 0:
			return filecopy.ErrShorter
		}
		p, at = p[n:], at+int64(n)
	}
	return nil
}
