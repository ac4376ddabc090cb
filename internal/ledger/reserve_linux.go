package ledger

import (
	"os"

	"golang.org/x/sys/unix"
)

// setAside gives a file so many bytes of the disk, where that has plenty.
func setAside(path string, size int64) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer f.Close()
	var st unix.Statfs_t
	if unix.Fstatfs(int(f.Fd()), &st) != nil || int64(st.Bavail)*st.Bsize < 4*size {
		return
	}
	_ = unix.Fallocate(int(f.Fd()), 0, 0, size)
}
