package quota

import (
	"context"
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Find says which Holder there is for the trees below a directory, or with a
// [Missing] why there is none. It changes nothing: quotas that are off stay
// off, because they cost all users of the filesystem something.
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

// Enable switches quotas on for a btrfs of our own; it can be repeated. simple
// says that they are of the simple kind. Doing it to another's btrfs slows it
// down, and makes it unreadable for older kernels.
func Enable(ctx context.Context, dir string) (simple bool, err error) {
	b, err := openBtrfs(dir)
	if err != nil {
		return false, err
	}
	err = inDir(dir, func(fd int) error {
		if !b.on() {
			if err := enable(fd); err != nil {
				return fmt.Errorf("switch on the quotas of the btrfs at %s: %w", dir, err)
			}
		}
		return counted(ctx, fd)
	})
	if err != nil {
		return false, err
	}
	if b, err = openBtrfs(dir); err != nil {
		return false, err
	}
	b.countAll()
	return b.simple, nil
}

// counted waits until full quota groups know what there is. Limits do not hold
// before.
func counted(ctx context.Context, fd int) error {
	for {
		if busy, err := counting(fd); !busy || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// volumeArgs is the kernel's struct btrfs_ioctl_vol_args.
type volumeArgs struct {
	_    int64
	name [4088]byte
}

var ioctlResize = request(writes, btrfsType, 3, unsafe.Sizeof(volumeArgs{}))

// Fill has a btrfs of one device take all of that device, while it is used.
func Fill(dir string) error {
	var args volumeArgs
	copy(args.name[:], "max")
	return inDir(dir, func(fd int) error {
		if err := ioctl(fd, ioctlResize, unsafe.Pointer(&args)); err != nil {
			return fmt.Errorf("resize the btrfs at %s: %w", dir, err)
		}
		return nil
	})
}
