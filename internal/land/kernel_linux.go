package land

import (
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// step is called before every system call that changes something. Tests put
// failures and crashes here; otherwise it does nothing.
var step = func(string) error { return nil }

// act makes one change, and again when a signal came in between.
func act(name string, call func() error) error {
	if err := step(name); err != nil {
		return err
	}
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}

func rename(fromDir int, from string, toDir int, to string, flags uint) error {
	return act("rename", func() error { return unix.Renameat2(fromDir, from, toDir, to, flags) })
}

func mkdir(dir int, name string) error {
	return act("mkdir", func() error { return unix.Mkdirat(dir, name, 0o700) })
}

func unlink(dir int, name string, flags int) error {
	return act("unlink", func() error { return unix.Unlinkat(dir, name, flags) })
}

// create makes a new file. What is there already, a symlink even, is EEXIST.
func create(dir int, name string) (*os.File, error) {
	var fd int
	err := act("create", func() (err error) {
		fd, err = unix.Openat(dir, name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
		return err
	})
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// syncFile makes a file, or the names in a directory, durable.
func syncFile(f *os.File) error {
	return act("fsync", func() error { return unix.Fsync(int(f.Fd())) })
}

// syncFilesystem makes everything on the filesystem of fd durable: one call
// instead of one for each file.
func syncFilesystem(fd int) error {
	return act("syncfs", func() error { return unix.Syncfs(fd) })
}

// open opens a name in a directory, follows nothing, and stays in it.
func open(dir int, path string, flags uint64) (int, error) {
	for {
		fd, err := unix.Openat2(dir, path, &unix.OpenHow{
			Flags:   flags | unix.O_NOFOLLOW | unix.O_CLOEXEC,
			Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
		})
		// EAGAIN: a rename elsewhere raced with the walk; EINTR: a signal.
		if err != unix.EAGAIN && err != unix.EINTR {
			return fd, err
		}
	}
}

// procPath names an open object for calls that take only paths. It leads to
// the object itself, whatever its name means by now, and a symlink opened with
// O_PATH is not followed.
func procPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// list returns the names in an open directory, sorted.
func list(dir int) ([]string, error) {
	fd, err := open(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var names []string
	buf := make([]byte, 32<<10)
	for {
		n, err := unix.ReadDirent(fd, buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, err
		}
		if n <= 0 {
			slices.Sort(names)
			return names, nil
		}
		_, _, names = unix.ParseDirent(buf[:n], -1, names)
	}
}
