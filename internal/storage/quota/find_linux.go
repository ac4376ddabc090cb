package quota

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Find says which Holder there is for the trees below a directory, or with a
// [Missing] why there is none. It changes nothing: quotas that are off stay
// off, because they cost everybody on the filesystem something.
func Find(dir string) (Holder, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return nil, fmt.Errorf("look at the filesystem of %s: %w", dir, err)
	}
	if err := mayAdminister(); err != nil {
		return nil, err
	}
	switch uint32(st.Type) {
	case unix.BTRFS_SUPER_MAGIC:
		return findBtrfs(dir)
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC:
		return findProjects(dir)
	}
	return nil, &Missing{Why: "the filesystem has no limits on directories (btrfs, xfs and ext4 have)"}
}

// mayAdminister says whether we have what the kernel wants of who sets limits:
// CAP_SYS_ADMIN where the filesystem was mounted. In a user namespace of our
// own we seem to have it; the kernel will say no then, and the trial tells.
func mayAdminister() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return err
	}
	if data[0].Effective&(1<<unix.CAP_SYS_ADMIN) == 0 {
		return &Missing{Why: "limits on directories are for root to set", Hint: "run forkbox's daemon as root"}
	}
	return nil
}
