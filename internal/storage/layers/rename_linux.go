package layers

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// rename moves a directory to a name that must be free. A plain rename would
// replace an empty directory.
func rename(from, to string) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) { // a filesystem that cannot promise it
		if exists(to) {
			err = fs.ErrExist
		} else {
			err = os.Rename(from, to)
		}
	}
	if err != nil {
		return fmt.Errorf("rename %s to %s: %w", from, to, err)
	}
	return nil
}
