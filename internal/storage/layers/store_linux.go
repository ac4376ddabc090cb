package layers

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/linux"
	"golang.org/x/sys/unix"
)

// HostFree is what others have left of the filesystem that the store really
// lies on, bytes and inodes, and how big it is. A store in a pool lies where
// the pool's file does. inodes is -1 where the filesystem makes them as needed.
func (s *Store) HostFree() (bytes, inodes, total int64, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(s.lies, &st); err != nil {
		return 0, 0, 0, forkbox.Wrap("look how full the disk is", err)
	}
	block := int64(st.Frsize)
	inodes = int64(st.Ffree)
	if st.Files == 0 { // btrfs
		inodes = -1
	}
	return int64(st.Bavail) * block, inodes, int64(st.Blocks) * block, nil
}

// Check tries whether a box could be written to the store. It leaves nothing: a file
// without a name is gone with its descriptor.
func (s *Store) Check() error {
	const op = "write to the store"
	dir := filepath.Dir(s.Dir("x"))
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	if errors.Is(err, unix.EOPNOTSUPP) { // this filesystem has none
		err = unix.Access(dir, unix.W_OK)
	} else if err == nil {
		err = unix.Close(fd)
	}
	if err != nil {
		return forkbox.Errorf(forkbox.CodeOf(forkbox.Wrap(op, err)), op, "%s: %w", dir, err)
	}
	return nil
}

// CreateLog opens an exec's log for its box's init, who adds to it. Root in a
// box of root's can reach init's open files: the log is not root's.
func (s *Store) CreateLog(id, exec string) (*os.File, error) {
	f, err := os.OpenFile(s.Log(id, exec), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil || !linux.RealRoot() {
		return f, err
	}
	if err := linux.Disown(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

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

// topDir is ext4's flag for a directory whose subdirectories have nothing to
// do with each other: it spreads them over the disk (chattr +T).
const topDir = 0x20000

// spread asks the filesystem to put boxes apart. Side by side they get in each
// other's way: ext4 without a journal steps over every inode that was deleted
// in the last minute to find a free one. Where it is not ext4 it says no, and
// that is fine.
func spread(dir string) {
	f, err := os.Open(dir)
	if err != nil {
		return
	}
	defer f.Close()
	flags, err := unix.IoctlGetUint32(int(f.Fd()), unix.FS_IOC_GETFLAGS)
	if err == nil && flags&topDir == 0 {
		_ = unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, int(flags|topDir))
	}
}
