package files

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox/internal/linux"
)

// RemoveAll removes a name with all that is below it. It follows nothing and
// enters no other mount. Something that is not there is removed.
func RemoveAll(dir int, name string) error {
	err := Unlink(dir, name, 0)
	if err == nil || errors.Is(err, unix.ENOENT) {
		return nil
	}
	now, lerr := Lstat(dir, name)
	if lerr != nil || !now.IsDir() {
		return errors.Join(lerr, err)
	}
	if err := removeBelow(dir, name); err != nil {
		return err
	}
	return Gone(Unlink(dir, name, unix.AT_REMOVEDIR))
}

func removeBelow(parent int, name string) error {
	fd, err := openToEmpty(parent, name)
	if err != nil {
		return Gone(err)
	}
	defer unix.Close(fd)
	return RemoveIn(fd)
}

func RemoveIn(dir int) error {
	names, err := linux.List(dir)
	if err != nil {
		return err
	}
	for _, n := range names {
		if err := RemoveAll(dir, n); err != nil {
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
		if err := (Handle{Fd: path}).Chmod(0o700); err != nil {
			return -1, err
		}
	}
	return Open(path, ".", unix.O_RDONLY|unix.O_DIRECTORY)
}
