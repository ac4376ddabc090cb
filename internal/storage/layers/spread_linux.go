package layers

import (
	"os"

	"golang.org/x/sys/unix"
)

// topDir is ext4's flag for a directory whose subdirectories have nothing to
// do with each other: it spreads them over the disk (chattr +T).
const topDir = 0x20000

// spread asks the filesystem to put boxes apart. Side by side they get in each
// other's way: ext4 without a journal steps over every inode that was deleted
// in the last minute to find a free one. Where it is not ext4 it says no, and
// that is fine.
func spread(dir string) {
	f, err := os.Open(dir)
	if err != nil {
		return
	}
	defer f.Close()
	flags, err := unix.IoctlGetUint32(int(f.Fd()), unix.FS_IOC_GETFLAGS)
	if err == nil && flags&topDir == 0 {
		_ = unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, int(flags|topDir))
	}
}
