package layers

import (
	"errors"

	"golang.org/x/sys/unix"
)

// directory copies a directory and what is in it. It gets its attributes
// last: until then it must be writable, must not hand down a default ACL, and
// its time changes.
func (c *cloner) directory(name string) error {
	src, attrs, err := c.open(name, unix.O_RDONLY|unix.O_DIRECTORY, 0o500)
	if err != nil {
		return err
	}
	if err := c.src.push(src); err != nil {
		return err
	}
	names, err := listAll(src)
	if err != nil {
		return err
	}
	if err := c.descend(name); err != nil {
		return err
	}
	for _, name := range names {
		if err := c.entry(name); err != nil {
			return err
		}
	}
	return c.ascend(attrs)
}

func (c *cloner) descend(name string) error {
	if err := unix.Mkdirat(c.dst.here(), name, 0o700); err != nil {
		return err
	}
	dst, err := openIn(c.dst.here(), name, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	return c.dst.push(dst)
}

// ascend finishes a directory. Its attributes may forbid us to go up from
// there, hence the order.
func (c *cloner) ascend(attrs *attributes) error {
	err := c.src.raise(func(dir int, name string) (fd int, err error) {
		err = c.reach(func(dir int) error {
			fd, err = openUp(dir, name)
			return err
		})
		return fd, err
	})
	if err == nil {
		err = c.dst.raise(func(dir int, name string) (int, error) {
			return unix.Openat(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		})
	}
	if err == nil {
		err = handle{c.dst.here(), true}.dress(attrs)
	}
	if err != nil {
		return err
	}
	c.src.pop()
	c.dst.pop()
	return nil
}

// file copies a regular file.
func (c *cloner) file(name string) error {
	src, attrs, err := c.open(name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0o400)
	if err != nil {
		return err
	}
	defer unix.Close(src)
	if attrs.st.Mode&unix.S_IFMT != unix.S_IFREG {
		return errors.New("it was replaced meanwhile")
	}
	dst, err := unix.Openat(c.dst.here(), name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	defer unix.Close(dst)
	if err := c.content(dst, src, attrs.st.Size); err != nil {
		return err
	}
	return handle{dst, true}.dress(attrs)
}

// special copies a symlink, fifo, socket or device; a whiteout is a device.
func (c *cloner) special(name string, st *unix.Stat_t) error {
	src, attrs, err := c.open(name, unix.O_PATH, 0)
	if err != nil {
		return err
	}
	defer unix.Close(src)
	if st.Mode&unix.S_IFMT == unix.S_IFLNK {
		err = c.symlink(src, name)
	} else {
		err = unix.Mknodat(c.dst.here(), name, st.Mode&unix.S_IFMT|0o600, int(st.Rdev))
	}
	if err != nil {
		return err
	}
	dst, err := openIn(c.dst.here(), name, unix.O_PATH)
	if err != nil {
		return err
	}
	defer unix.Close(dst)
	return handle{dst, false}.dress(attrs)
}

func (c *cloner) symlink(src int, name string) error {
	n, err := unix.Readlinkat(src, "", c.buf[:unix.PathMax])
	if err != nil {
		return err
	}
	return unix.Symlinkat(string(c.buf[:n]), c.dst.here(), name)
}
