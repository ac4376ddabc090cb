//go:build unix

package client

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// CheckSocketDir refuses a directory in which another user could put a socket
// in place of the daemon's: a caller hands that socket open files and an
// environment. Root's directories are trusted, sticky ones like /tmp too,
// because there the listener's own credentials decide.
func CheckSocketDir(dir string) error {
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err != nil {
		return untrusted("%w", err)
	}
	owner := int(info.Sys().(*syscall.Stat_t).Uid)
	if owner != 0 && owner != os.Geteuid() {
		return untrusted("%s belongs to uid %d", dir, owner)
	}
	if info.Mode().Perm()&0o022 != 0 && info.Mode()&fs.ModeSticky == 0 {
		return untrusted("%s can be written by others (mode %04o)", dir, info.Mode().Perm())
	}
	return nil
}
