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
