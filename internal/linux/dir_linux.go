package linux

import (
	"os"
	"slices"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Beneath has a path stay below the directory that it begins in, and follow
// nothing on the way.
const Beneath = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS

// OpenAt opens a path below an open directory, as openat2 does with resolve.
func OpenAt(dir int, path string, flags, resolve uint64) (int, error) {
	for {
		fd, err := unix.Openat2(dir, path, &unix.OpenHow{Flags: flags | unix.O_CLOEXEC, Resolve: resolve})
		// EAGAIN: a rename elsewhere raced with the walk; EINTR: a signal.
		if err != unix.EAGAIN && err != unix.EINTR {
			return fd, err
		}
	}
}

// Names are those in an open directory from where it was read last, sorted.
func Names(dir int) ([]string, error) {
	var names []string
	buf := make([]byte, 32<<10)
	for {
		n, err := unix.ReadDirent(dir, buf)
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

// List are all names in a directory that may be open only as a place, sorted.
func List(dir int) ([]string, error) {
	fd, err := OpenAt(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, Beneath)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	return Names(fd)
}

// ProcEntries are what /proc holds besides processes and symlinks. The kernel
// lists these first: not looking at the processes makes it cheap.
func ProcEntries() ([]string, error) {
	dir, err := unix.Open("/proc", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: "/proc", Err: err}
	}
	defer unix.Close(dir)
	names := make([]string, 0, 64)
	buf := make([]byte, 2<<10)
	for {
		n, err := unix.ReadDirent(dir, buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, &os.PathError{Op: "read", Path: "/proc", Err: err}
		}
		if n <= 0 {
			return names, nil
		}
		for rest := buf[:n]; len(rest) > 0; {
			e := (*unix.Dirent)(unsafe.Pointer(&rest[0]))
			name := unix.ByteSliceToString(rest[unsafe.Offsetof(e.Name):e.Reclen])
			kind := e.Type
			rest = rest[e.Reclen:]
			switch {
			case name[0] >= '1' && name[0] <= '9':
				return names, nil
			case name != "." && name != ".." && kind != unix.DT_LNK:
				names = append(names, name)
			}
		}
	}
}

// ProcPath names an open object for calls that take only paths. It leads to
// the object itself, whatever its name means by now, and a symlink that was
// opened with O_PATH is not followed.
func ProcPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }
