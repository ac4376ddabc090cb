package quota

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// attributes is the kernel's struct fsxattr.
type attributes struct {
	flags   uint32
	_, _    uint32
	project uint32
	_       uint32
	_       [8]byte
}

var (
	ioctlGetAttributes = request(reads, 'X', 31, unsafe.Sizeof(attributes{}))
	ioctlSetAttributes = request(writes, 'X', 32, unsafe.Sizeof(attributes{}))
)

// inherits is FS_XFLAG_PROJINHERIT: what is made in the directory gets its id.
const inherits = 0x200

func attributesOf(fd int) (a attributes, err error) {
	err = ioctl(fd, ioctlGetAttributes, unsafe.Pointer(&a))
	return a, err
}

// assign gives a tree a project id: to directories before what is in them, so
// that what is made meanwhile inherits it. Only directories and files can be
// given one; what else there is, links and whiteouts, takes an inode at most.
func assign(dir string, id uint32) error {
	return inDir(dir, func(fd int) error { return assignOpen(fd, id, dir, 0) })
}

// deepest is how many directories below one another are given an id. Each
// takes a file descriptor meanwhile, and a box must not use up ours.
const deepest = 500

func assignOpen(fd int, id uint32, path string, depth int) error {
	if depth > deepest {
		return fmt.Errorf("%q lies too deep to be given a project id", path[:200]+"…")
	}
	if err := mark(fd, id, inherits); err != nil {
		return fmt.Errorf("give %q project id %#x: %w", path, id, err)
	}
	entries, err := list(fd)
	if err != nil {
		return fmt.Errorf("list %q: %w", path, err)
	}
	for _, e := range entries {
		if err := assignEntry(fd, e, id, path, depth); err != nil {
			return err
		}
	}
	return nil
}

func list(dir int) ([]os.DirEntry, error) {
	fd, err := unix.Openat(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), ".")
	defer f.Close()
	return f.ReadDir(-1)
}

func assignEntry(dir int, e os.DirEntry, id uint32, path string, depth int) error {
	if !e.IsDir() && !e.Type().IsRegular() {
		return nil
	}
	// A pipe put in its place meanwhile must not make us wait.
	const flags = unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_NOATIME
	fd, err := unix.Openat2(dir, e.Name(), &unix.OpenHow{Flags: flags | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_XDEV | unix.RESOLVE_NO_SYMLINKS})
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ELOOP) { // deleted, or replaced, meanwhile
		return nil
	}
	path += "/" + e.Name()
	if err != nil {
		return fmt.Errorf("open %q: %w", path, err)
	}
	defer unix.Close(fd)
	if e.IsDir() {
		return assignOpen(fd, id, path, depth+1)
	}
	if err := mark(fd, id, 0); err != nil && !errors.Is(err, unix.ENOTTY) {
		return fmt.Errorf("give %q project id %#x: %w", path, id, err)
	}
	return nil
}

func mark(fd int, id, flags uint32) error {
	a, err := attributesOf(fd)
	if err != nil {
		return err
	}
	if a.project == id && a.flags&flags == flags {
		return nil
	}
	a.project, a.flags = id, a.flags|flags
	return ioctl(fd, ioctlSetAttributes, unsafe.Pointer(&a))
}
