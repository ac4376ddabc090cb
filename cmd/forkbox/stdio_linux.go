package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// mayHandOver is true for sockets and for pipes without a name. A named pipe is
// a file of reality: through an open descriptor its mode could be changed.
func mayHandOver(f *os.File) bool {
	info, err := f.Stat()
	if err != nil {
		return false
	}
	if info.Mode()&os.ModeSocket != 0 {
		return true
	}
	var fs unix.Statfs_t
	return info.Mode()&os.ModeNamedPipe != 0 &&
		unix.Fstatfs(int(f.Fd()), &fs) == nil && fs.Type == unix.PIPEFS_MAGIC
}

// unread is how much of what was written to a pipe nobody has read.
func unread(fd uintptr) int64 {
	n, err := unix.IoctlGetInt(int(fd), unix.TIOCINQ)
	if err != nil {
		return 0
	}
	return int64(n)
}
