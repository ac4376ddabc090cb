package ledger

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// setAside gives a file so many bytes of the disk, where that has plenty.
func setAside(path string, size int64) {
	if roomAt(filepath.Dir(path)) < 4*reserve {
		return
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	_ = unix.Fallocate(int(f.Fd()), 0, 0, size)
}

// roomAt is how many bytes a user may still write to the disk of a directory; a
// disk that does not say has plenty.
func roomAt(dir string) int64 {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil {
		return 1 << 62
	}
	return int64(st.Bavail) * st.Bsize
}

// inPlace is FS_NOCOW_FL of linux/fs.h.
const inPlace = 0x00800000

// writeInPlace has btrfs write a file's bytes where they are, and not to new
// room each time. It can be told so only while the file is empty: the ledger's
// are made here, before SQLite does.
func writeInPlace(f *os.File) {
	var st unix.Statfs_t
	if unix.Fstatfs(int(f.Fd()), &st) != nil || uint32(st.Type) != unix.BTRFS_SUPER_MAGIC {
		return
	}
	flags, err := unix.IoctlGetUint32(int(f.Fd()), unix.FS_IOC_GETFLAGS)
	if err != nil || flags&inPlace != 0 {
		return
	}
	// One that has bytes already says no, and stays as it is.
	_ = unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, int(flags|inPlace))
}

// settle waits until what was removed can be written to again: btrfs gives room
// back only with its next transaction.
func settle(path string) {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return
	}
	defer dir.Close()
	_ = unix.Syncfs(int(dir.Fd()))
}
