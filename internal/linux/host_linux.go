package linux

import (
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// RealRoot says whether this process is root of the machine and not just of a
// user namespace.
func RealRoot() bool { return os.Geteuid() == 0 && everyUser() }

// everyUser says whether this process's user namespace has all users there are:
// it is the host's, or as good as that.
var everyUser = sync.OnceValue(func() bool {
	raw, err := os.ReadFile("/proc/self/uid_map")
	return err != nil || strings.Join(strings.Fields(string(raw)), " ") == "0 0 4294967295"
})

// HasLowerdirPlus says whether overlayfs takes lower directories one by one
// (Linux 6.5). It asks without mounting anything.
func HasLowerdirPlus() bool {
	fs, err := unix.Fsopen("overlay", unix.FSOPEN_CLOEXEC)
	if err != nil {
		// Not allowed outside of a user namespace; go by the kernel's age.
		return KernelAtLeast(6, 5)
	}
	defer unix.Close(fs)
	// Older kernels take any word here, and refuse it when it comes to mounting.
	return KernelAtLeast(6, 5) && unix.FsconfigSetString(fs, "lowerdir+", "/") == nil
}

// KernelAtLeast compares the running kernel's version.
func KernelAtLeast(major, minor int) bool {
	var uts unix.Utsname
	if err := unix.Uname(&uts); err != nil {
		return false
	}
	var have [2]int
	part := 0
	for _, c := range uts.Release {
		if c >= '0' && c <= '9' {
			have[part] = have[part]*10 + int(c-'0')
			continue
		}
		if part++; part == len(have) {
			break
		}
	}
	return have[0] > major || have[0] == major && have[1] >= minor
}

// ReadOnlyClone opens a file through a read-only mount of its own: no process
// that gets hold of the descriptor can write to the file through it.
func ReadOnlyClone(path string) (int, error) {
	fd, err := unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return -1, err
	}
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NODEV}
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &attr); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// Scratch makes a file of a fixed size that exists only in memory.
func Scratch(name string, size int64) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), name)
	err = f.Truncate(size)
	if err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_GROW|unix.F_SEAL_SHRINK|unix.F_SEAL_SEAL)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
