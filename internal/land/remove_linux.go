package land

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox/internal/linux"
)

// removeAll removes a name with all that is below it. It follows nothing and
// enters no other mount. Something that is not there is removed.
func removeAll(dir int, name string) error {
	err := unlink(dir, name, 0)
	if err == nil || errors.Is(err, unix.ENOENT) {
		return nil
	}
	now, lerr := lstat(dir, name)
	if lerr != nil || !now.isDir() {
		return errors.Join(lerr, err)
	}
	if err := removeBelow(dir, name); err != nil {
		return err
	}
	return gone(unlink(dir, name, unix.AT_REMOVEDIR))
}

func removeBelow(parent int, name string) error {
	fd, err := openToEmpty(parent, name)
	if err != nil {
		return gone(err)
	}
	defer unix.Close(fd)
	return removeIn(fd)
}

func removeIn(dir int) error {
	names, err := linux.List(dir)
	if err != nil {
		return err
	}
	for _, n := range names {
		if err := removeAll(dir, n); err != nil {
			return err
		}
	}
	return nil
}

// openToEmpty opens a directory such that its names can be removed, also one
// that was read-only.
func openToEmpty(parent int, name string) (int, error) {
	path, err := unix.Openat2(parent, name, &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_XDEV,
	})
	if err != nil {
		return -1, err
	}
	defer unix.Close(path)
	if unix.Faccessat(path, ".", unix.R_OK|unix.W_OK|unix.X_OK, unix.AT_EACCESS) != nil {
		if err := (handle{path, false}).chmod(0o700); err != nil {
			return -1, err
		}
	}
	return open(path, ".", unix.O_RDONLY|unix.O_DIRECTORY)
}

// measure tells how many bytes on disk are kept.
func (s *site) measure() (total int64, err error) {
	for _, p := range s.places {
		if p.fd < 0 {
			continue
		}
		n, err := measureBelow(p.fd)
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}

func measureBelow(dir int) (total int64, err error) {
	names, err := linux.List(dir)
	if err != nil {
		return 0, unreadable(err)
	}
	for _, name := range names {
		var st unix.Stat_t
		if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return 0, unreadable(err)
		}
		total += st.Blocks * 512
		if st.Mode&unix.S_IFMT != unix.S_IFDIR {
			continue
		}
		fd, err := open(dir, name, unix.O_PATH|unix.O_DIRECTORY)
		if err != nil {
			return 0, unreadable(err)
		}
		n, err := measureBelow(fd)
		unix.Close(fd)
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}

// unreadable forgives what the caller may not look at: it is not counted.
func unreadable(err error) error {
	if errors.Is(err, unix.EACCES) || errors.Is(err, unix.ENOENT) {
		return nil
	}
	return err
}
