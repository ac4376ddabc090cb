package files

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox/internal/linux"
)

// Step is called before every system call that changes something. Tests put
// failures and crashes here; otherwise it does nothing.
var Step = func(string) error { return nil }

// Glance is called before every look at a name. Tests edit the tree there.
var Glance = func() {}

// Act makes one change, and again when a signal came in between.
func Act(name string, call func() error) error {
	if err := Step(name); err != nil {
		return err
	}
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}

// Rename moves a name, or exchanges two.
func Rename(fromDir int, from string, toDir int, to string, flags uint) error {
	return Act("rename", func() error { return unix.Renameat2(fromDir, from, toDir, to, flags) })
}

// Mkdir makes a directory that is the caller's alone.
func Mkdir(dir int, name string) error {
	return Act("mkdir", func() error { return unix.Mkdirat(dir, name, 0o700) })
}

// Unlink removes a name.
func Unlink(dir int, name string, flags int) error {
	return Act("unlink", func() error { return unix.Unlinkat(dir, name, flags) })
}

// Create makes a new file. What is there already, a symlink even, is EEXIST.
func Create(dir int, name string) (*os.File, error) {
	var fd int
	err := Act("create", func() (err error) {
		fd, err = unix.Openat(dir, name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
		return err
	})
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// SyncFile makes a file, or the names in a directory, durable.
func SyncFile(f *os.File) error {
	return Act("fsync", func() error { return unix.Fsync(int(f.Fd())) })
}

// SyncFilesystem makes everything on the filesystem of fd durable: one call
// instead of one for each file.
func SyncFilesystem(fd int) error {
	return Act("syncfs", func() error { return unix.Syncfs(fd) })
}

// Open opens a name in a directory, follows nothing, and stays in it.
func Open(dir int, path string, flags uint64) (int, error) {
	return linux.OpenAt(dir, path, flags|unix.O_NOFOLLOW, linux.Beneath)
}

// Linkat does not follow a symlink: it gets another name itself.
func Linkat(fromDir int, from string, toDir int, to string) error {
	return Act("link", func() error { return unix.Linkat(fromDir, from, toDir, to, 0) })
}

// Readlink is what a symlink leads to.
func Readlink(dir int, name string) (string, error) {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(dir, name, buf)
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}

// Gone forgives that something is not there.
func Gone(err error) error {
	for _, e := range []error{unix.ENOENT, unix.ENOTDIR, unix.ELOOP} {
		if errors.Is(err, e) {
			return nil
		}
	}
	return err
}
