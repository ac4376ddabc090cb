//go:build unix

package toolhosts

import (
	"io/fs"
	"os"
	"strconv"
	"syscall"
)

// openPlain does not wait for a writer of a fifo of that name, and does not
// become the owner of a terminal.
func openPlain(file string) (*os.File, error) {
	return os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
}

func openDirectory(dir string) (*os.File, error) {
	return os.OpenFile(dir, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_DIRECTORY, 0)
}

// ownedByUser says that the caller wrote it, or root; for root under sudo also
// who they were before.
func ownedByUser(info fs.FileInfo) bool {
	uid := int(info.Sys().(*syscall.Stat_t).Uid)
	if uid == 0 || uid == os.Geteuid() {
		return true
	}
	was, err := strconv.Atoi(os.Getenv("SUDO_UID"))
	return err == nil && os.Geteuid() == 0 && uid == was
}
