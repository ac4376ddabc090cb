//go:build unix

package launch

import (
	"os"
	"syscall"
)

func fileOwner(path string) (uid int, known bool) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, false
	}
	return int(info.Sys().(*syscall.Stat_t).Uid), true
}
