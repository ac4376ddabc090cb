package layers

import (
	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
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
