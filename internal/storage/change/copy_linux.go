package change

import (
	"context"
	"errors"
	"strings"

	"golang.org/x/sys/unix"
)

// copier makes faithful copies of files.
type copier struct {
	ctx         context.Context
	prefix      string // of overlayfs's attributes
	root        int    // where the paths of copies begin
	ignoreOwner bool
	notes       bool             // overlayfs's notes of what a file is a copy of are kept
	made        map[inode]string // where files with several names were copied to
}

// errVanished is about a file that was not there any more to be copied.
var errVanished = errors.New("it vanished while it was copied")

// copy makes a copy of anything but a directory, under the same name. at is the
// path of the copy.
func (c *copier) copy(dir int, name string, f file, into int, at string) error {
	if c.linked(f, into, name) {
		return nil
	}
	if err := c.bodyAs(dir, name, &f, into, name); err != nil {
		return err
	}
	if err := c.attributes(dir, name, f, into, name); err != nil {
		return err
	}
	if f.Nlink > 1 && !f.isDir() {
		if c.made == nil {
			c.made = map[inode]string{}
		}
		c.made[f.inode()] = at
	}
	return nil
}

// linked makes one more name of what was copied before. Where that does not
// work, for a path too long or a file with too many names, it is a copy again.
func (c *copier) linked(f file, into int, name string) bool {
	at, ok := c.made[f.inode()]
	if !ok || f.Nlink < 2 {
		return false
	}
	dir, base := c.root, strings.TrimPrefix(at, "/")
	if i := strings.LastIndexByte(base, '/'); i >= 0 {
		fd, err := openPath(c.root, base[:i])
		if err != nil {
			return false
		}
		defer unix.Close(fd)
		dir, base = fd, base[i+1:]
	}
	return unix.Linkat(dir, base, into, name, 0) == nil
}

// bodyAs makes the file with its content. What f says is brought up to date.
func (c *copier) bodyAs(dir int, name string, f *file, into int, as string) error {
	switch f.format() {
	case unix.S_IFREG:
		return c.regular(dir, name, f, into, as)
	case unix.S_IFLNK:
		target, err := readlink(dir, name)
		if err != nil {
			return err
		}
		return unix.Symlinkat(target, into, as)
	}
	return unix.Mknodat(into, as, f.format()|0o600, int(f.Rdev))
}

func (c *copier) regular(dir int, name string, f *file, into int, as string) error {
	from, now, err := openContent(dir, name)
	if errors.Is(err, unix.ENOENT) {
		return errVanished
	}
	if err != nil {
		return err
	}
	defer unix.Close(from)
	*f = now
	to, err := create(into, as)
	if err != nil {
		return err
	}
	defer unix.Close(to)
	if unix.IoctlFileClone(to, from) == nil {
		return nil
	}
	return c.bytes(from, to, f.Size)
}

// create makes a file that was not there.
func create(dir int, name string) (int, error) {
	return unix.Openat(dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
}

// bytes copies what is not a hole.
func (c *copier) bytes(from, to int, size int64) error {
	if err := unix.Ftruncate(to, size); err != nil {
		return err
	}
	for off := int64(0); off < size; {
		data := nextData(from, off, size)
		if data >= size {
			return nil
		}
		end, err := unix.Seek(from, data, unix.SEEK_HOLE)
		if err != nil || end <= data {
			end = size // this filesystem does not tell
		}
		if err := c.extent(from, to, data, min(end, size)); err != nil {
			return err
		}
		off = end
	}
	return nil
}

// extent copies a stretch of a file, in pieces between which it can be
// cancelled.
func (c *copier) extent(from, to int, off, end int64) error {
	const piece = 16 << 20
	for off < end {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		in, out := off, off
		n, err := unix.CopyFileRange(from, &in, to, &out, int(min(end-off, piece)), 0)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return c.slowly(from, to, off, end)
		case n == 0:
			return nil // truncated meanwhile
		}
		off += int64(n)
	}
	return nil
}

// slowly copies through memory, where the kernel does not do it by itself.
func (c *copier) slowly(from, to int, off, end int64) error {
	buf := make([]byte, bufferSize)
	for off < end {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		n, err := pread(from, buf[:min(end-off, bufferSize)], off)
		if err != nil || n == 0 {
			return err
		}
		for done := 0; done < n; {
			m, err := unix.Pwrite(to, buf[done:n], off+int64(done))
			if err != nil && !errors.Is(err, unix.EINTR) {
				return err
			}
			done += max(m, 0)
		}
		off += int64(n)
	}
	return nil
}

// cover makes what a box is shown of a secret: something empty, with the mode
// and owner that it has, or nothing. mark is called with a directory.
func (c *copier) cover(f file, into int, as string, mark func(fd int) error) (err error) {
	fd := none
	switch {
	case f.isDir():
		fd, err = makeDir(into, as)
	case f.isRegular():
		fd, err = create(into, as)
	default:
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if f.isDir() && mark != nil {
		if err := mark(fd); err != nil {
			return err
		}
	}
	return c.plain(f, into, as)
}
