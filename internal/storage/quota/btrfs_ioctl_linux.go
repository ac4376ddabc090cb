package quota

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// The parts of an ioctl's number that differ between processors, taken from
// one that only reads and one that only writes.
const (
	directions = 7 << 29
	reads      = unix.FS_IOC_GETFLAGS & directions
	writes     = unix.FICLONE & directions
	both       = reads | writes
)

// btrfsType is what tells the ioctls of btrfs from others.
const btrfsType = 0x94

var (
	ioctlSearch      = request(both, btrfsType, 17, unsafe.Sizeof(searchArgs{}))
	ioctlLookup      = request(both, btrfsType, 18, unsafe.Sizeof(lookupArgs{}))
	ioctlInfo        = request(reads, btrfsType, 31, unsafe.Sizeof(infoArgs{}))
	ioctlControl     = request(both, btrfsType, 40, unsafe.Sizeof(controlArgs{}))
	ioctlCreateGroup = request(writes, btrfsType, 42, unsafe.Sizeof(groupArgs{}))
	ioctlLimitGroup  = request(reads, btrfsType, 43, unsafe.Sizeof(limitArgs{}))
	ioctlRescan      = request(reads, btrfsType, 45, unsafe.Sizeof(rescanArgs{}))
)

func request(direction, kind, number, size uintptr) uintptr {
	return direction | size<<16 | kind<<8 | number
}

// The kernel's structs btrfs_ioctl_….
type (
	searchArgs struct { // search_args
		tree, minObject, maxObject, minOffset, maxOffset, _, maxTransaction uint64
		minType, maxType, items, _                                          uint32
		_                                                                   [4024]byte
	}
	lookupArgs struct { // ino_lookup_args
		tree, object uint64
		_            [4080]byte
	}
	infoArgs struct { // fs_info_args
		_    [16]byte
		fsid [16]byte
		_    [992]byte
	}
	controlArgs struct { // quota_ctl_args
		command, _ uint64
	}
	groupArgs struct { // qgroup_create_args
		create, id uint64
	}
	limitArgs struct { // qgroup_limit_args
		id, flags, referenced, _, _, _ uint64
	}
	rescanArgs struct { // quota_rescan_args
		running uint64
		_       [7]uint64
	}
)

const (
	enableFull   = 1 // BTRFS_QUOTA_CTL_ENABLE
	enableSimple = 4 // BTRFS_QUOTA_CTL_ENABLE_SIMPLE_QUOTA

	limitsReferenced = 1 // BTRFS_QGROUP_LIMIT_MAX_RFER

	volumeRoot  = 256 // the inode of every subvolume's root directory
	firstVolume = 256 // the lowest id that a subvolume can have
)

func ioctl(fd int, request uintptr, args unsafe.Pointer) error {
	for {
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(args))
		switch errno {
		case 0:
			return nil
		case unix.EINTR:
		default:
			return errno
		}
	}
}
