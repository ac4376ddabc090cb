package land

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox/internal/linux"
)

// step is called before every system call that changes something. Tests put
// failures and crashes here; otherwise it does nothing.
var step = func(string) error { return nil }

// OnStep has the tests of a whole daemon end it at a step of a landing.
func OnStep(call func()) {
	step = func(string) error { call(); return nil }
}

// glance is called before every look at a name. Tests edit the tree there.
var glance = func() {}

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
	return linux.OpenAt(dir, path, flags|unix.O_NOFOLLOW, linux.Beneath)
}
