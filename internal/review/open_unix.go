//go:build unix

package review

import (
	"io/fs"
	"os"
	"syscall"

	"github.com/forkbox/forkbox"
)

// openNode opens a file of reality that was looked at by other means. In a
// directory that the box moved, the path that the box has it at is another
// file's in reality, or none.
func openNode(path string, n forkbox.Node) (*os.File, error) {
	f, err := OpenRegular(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		if st, ok := info.Sys().(*syscall.Stat_t); ok && uint64(st.Ino) == n.Ino {
			return f, nil
		}
	}
	f.Close()
	return nil, fs.ErrNotExist
}

// OpenRegular opens a file of reality, and nothing but a file.
func OpenRegular(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		f.Close()
		return nil, fs.ErrNotExist
	}
	return f, nil
}

// mayReadOpen says whether the box's owner may read a file that is open.
func (v *View) mayReadOpen(f *os.File) bool {
	info, err := f.Stat()
	if err != nil {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && v.mayLook(info.Mode(), int(st.Uid), int(st.Gid), 0o4)
}
