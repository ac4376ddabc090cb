package engine

import (
	"io/fs"
	"syscall"
)

// changeTime is when an inode last changed.
func changeTime(info fs.FileInfo) (at syscall.Timespec, ok bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return at, false
	}
	return st.Ctim, true
}
