package linux

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// SubvolumeRoot is the inode number of the root directory of every subvolume of a
// btrfs.
const SubvolumeRoot = 256

// The ioctls of btrfs. FICLONE began as one of them; it differs by its number
// (9) and by its argument (an int), and is encoded rightly for every processor.
const (
	btrfsBase         = unix.FICLONE - 9 - 4<<16 + uint(unsafe.Sizeof(volumeArgs{}))<<16
	btrfsCreateVolume = btrfsBase + 14
	btrfsDeleteVolume = btrfsBase + 15
	btrfsSnapshot     = btrfsBase + 23

	// It answers instead of being told; so does the ioctl that the direction is from.
	btrfsInfo = unix.FS_IOC_GETFLAGS&(7<<29) | 0x94<<8 | 31 | uint(unsafe.Sizeof(filesystemArgs{}))<<16

	readOnly = 2 // BTRFS_SUBVOL_RDONLY
)

// volumeArgs is the kernel's struct btrfs_ioctl_vol_args.
type volumeArgs struct {
	fd   int64
	name [4088]byte
}

// snapshotArgs is the kernel's struct btrfs_ioctl_vol_args_v2.
type snapshotArgs struct {
	fd    int64
	_     uint64
	flags uint64
	_     [4]uint64
	name  [4040]byte
}

// filesystemArgs is the kernel's struct btrfs_ioctl_fs_info_args.
type filesystemArgs struct {
	_    [2]uint64
	fsid [16]byte
	_    [992]byte
}

// CreateSubvolume makes one of a name in a directory.
func CreateSubvolume(dir int, name string) error {
	args := volumeArgs{}
	copy(args.name[:len(args.name)-1], name)
	return btrfs(dir, btrfsCreateVolume, unsafe.Pointer(&args))
}

// DeleteSubvolume deletes one with all that is in it, but other subvolumes.
func DeleteSubvolume(dir int, name string) error {
	args := volumeArgs{}
	copy(args.name[:len(args.name)-1], name)
	return btrfs(dir, btrfsDeleteVolume, unsafe.Pointer(&args))
}

// SnapshotSubvolume makes a snapshot of the subvolume whose root directory is open
// as source. A fixed one cannot be written to.
func SnapshotSubvolume(dir int, name string, source int, fixed bool) error {
	args := snapshotArgs{fd: int64(source)}
	if fixed {
		args.flags = readOnly
	}
	copy(args.name[:len(args.name)-1], name)
	return btrfs(dir, btrfsSnapshot, unsafe.Pointer(&args))
}

// BtrfsID tells the btrfs of an open file apart from others: all its subvolumes
// have that in common, and neither their devices nor their mounts.
func BtrfsID(fd int) (id [16]byte, err error) {
	var args filesystemArgs
	err = btrfs(fd, btrfsInfo, unsafe.Pointer(&args))
	return args.fsid, err
}

func btrfs(fd int, request uint, args unsafe.Pointer) error {
	for {
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), uintptr(request), uintptr(args))
		switch errno {
		case 0:
			return nil
		case unix.EINTR:
		default:
			return errno
		}
	}
}
