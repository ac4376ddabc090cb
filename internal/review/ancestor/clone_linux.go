package ancestor

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

// clone has to share the disk blocks of from.
func clone(to, from *os.File) error {
	return unix.IoctlFileClone(int(to.Fd()), int(from.Fd()))
}

// same says whether f is a regular file, and the very one that was looked at.
func same(f *os.File, id forkbox.Identity) bool {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	s, ok := stampOf(info)
	return ok && id == s.Identity
}

func stampOf(info fs.FileInfo) (stamp, bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return stamp{}, false
	}
	id := forkbox.Identity{Dev: uint64(st.Dev), Ino: st.Ino, Ctime: st.Ctim.Nano(), Size: st.Size}
	return stamp{id, st.Mtim.Nano()}, true
}

// openFile opens a file to be read, and follows no symlink. Something else than
// a file, put in its place meanwhile, does not have the caller wait.
func openFile(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
}
