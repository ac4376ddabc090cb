package layers

import (
	"errors"

	"github.com/forkbox/forkbox/internal/linux"
	"github.com/forkbox/forkbox/internal/storage/filecopy"
	"golang.org/x/sys/unix"
)

// attributes reads those of a file that was just opened with flags, and
// closes it after an error.
func (c *cloner) attributes(fd int, flags uint64) (int, *filecopy.Attributes, error) {
	a, err := filecopy.Handle{FD: fd, Real: flags&unix.O_PATH == 0}.Read(c.buf)
	if err != nil {
		unix.Close(fd)
		return -1, nil, err
	}
	return fd, a, nil
}

// errLocked: root reads everything; others have to give themselves the
// permission first, and that is a change that a running box would see.
var errLocked = errors.New("its mode lets not even its owner read it, and is not changed while the box runs")

// open opens a name in the source and reads its attributes. Where the mode
// does not let the owner do that, it is changed for that moment; need is what
// it takes.
func (c *cloner) open(name string, flags uint64, need uint32) (fd int, attrs *filecopy.Attributes, err error) {
	fd, err = openQuietly(c.src.here(), name, flags)
	if errors.Is(err, unix.EACCES) {
		return c.openLocked(name, flags, need)
	}
	if err != nil {
		return -1, nil, err
	}
	return c.attributes(fd, flags)
}

func (c *cloner) openLocked(name string, flags uint64, need uint32) (fd int, attrs *filecopy.Attributes, err error) {
	var file int
	err = c.reach(func(dir int) error {
		file, err = openIn(dir, name, unix.O_PATH)
		return err
	})
	if err != nil {
		return -1, nil, err
	}
	defer unix.Close(file)
	var locked unix.Stat_t
	if err := unix.Fstat(file, &locked); err != nil {
		return -1, nil, err
	}
	err = c.unlocked(file, need, func() error {
		fd, err = unix.Open(linux.ProcPath(file), int(flags)|unix.O_CLOEXEC, 0)
		if err == nil {
			fd, attrs, err = c.attributes(fd, flags)
		}
		return err
	})
	if err != nil {
		return -1, nil, err
	}
	attrs.Stat = locked // not as it was for that moment
	return fd, attrs, nil
}

// openQuietly leaves the time of access alone, where it may.
func openQuietly(dir int, name string, flags uint64) (int, error) {
	if flags&unix.O_PATH != 0 {
		return openIn(dir, name, flags)
	}
	fd, err := openIn(dir, name, flags|unix.O_NOATIME)
	if errors.Is(err, unix.EPERM) {
		return openIn(dir, name, flags)
	}
	return fd, err
}

// reach does something in the source's directory that needs permission to
// search it.
func (c *cloner) reach(do func(dir int) error) error {
	dir := c.src.here()
	err := do(dir)
	if !errors.Is(err, unix.EACCES) {
		return err
	}
	return c.unlocked(dir, 0o500, func() error { return do(dir) })
}

// unlocked does something while the owner has the permissions that it takes.
// It is done for as short as possible: a crash meanwhile would leave them.
func (c *cloner) unlocked(fd int, need uint32, do func() error) error {
	if !c.still {
		return errLocked
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&need == need {
		return do() // it is not for the mode
	}
	if err := unix.Chmod(linux.ProcPath(fd), st.Mode&0o7777|need); err != nil {
		return err
	}
	err := do()
	return errors.Join(err, unix.Chmod(linux.ProcPath(fd), st.Mode&0o7777))
}
