package git

import (
	"io/fs"
	"syscall"
	"time"
)

// changeTime is when the inode last changed: unlike the modification time, no
// program can set it.
func changeTime(info fs.FileInfo) time.Time {
	st := info.Sys().(*syscall.Stat_t)
	return time.Unix(st.Ctim.Unix())
}
