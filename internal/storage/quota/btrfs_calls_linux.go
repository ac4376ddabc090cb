package quota

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox/internal/linux"
)

// inDir does something with an open directory.
func inDir(dir string, do func(fd int) error) error {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", dir, err)
	}
	defer unix.Close(fd)
	return do(fd)
}

// filesystemID is the name of the filesystem in sysfs.
func filesystemID(fd int) (string, error) {
	id, err := linux.BtrfsID(fd)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:]), nil
}

// volumeID is the id of the subvolume that a directory lies in.
func volumeID(fd int) (uint64, error) {
	args := lookupArgs{object: linux.SubvolumeRoot}
	err := ioctl(fd, ioctlLookup, unsafe.Pointer(&args))
	return args.tree, err
}

// hasVolume says whether a filesystem has a subvolume of that id, if only one
// whose deletion is not finished.
func hasVolume(fd int, id uint64) (bool, error) {
	const rootTree, rootItem, all = 1, 132, ^uint64(0)
	args := searchArgs{tree: rootTree, minObject: id, maxObject: id, maxOffset: all, maxTransaction: all,
		minType: rootItem, maxType: rootItem, items: 1}
	err := ioctl(fd, ioctlSearch, unsafe.Pointer(&args))
	return args.items > 0, err
}

// limitGroup limits the quota group of a subvolume.
func limitGroup(fd int, id, bytes uint64) error {
	args := limitArgs{id: id, flags: limitsReferenced, referenced: bytes}
	return ioctl(fd, ioctlLimitGroup, unsafe.Pointer(&args))
}

func removeGroup(fd int, id uint64) error {
	args := groupArgs{id: id} // it would have to say create
	return ioctl(fd, ioctlCreateGroup, unsafe.Pointer(&args))
}

// enable switches quotas on: simple ones if the kernel has them.
func enable(fd int) error {
	args := controlArgs{command: enableSimple}
	err := ioctl(fd, ioctlControl, unsafe.Pointer(&args))
	if errors.Is(err, unix.EINVAL) {
		args = controlArgs{command: enableFull}
		err = ioctl(fd, ioctlControl, unsafe.Pointer(&args))
	}
	return err
}

// counting says whether the kernel still counts what was there before quotas
// were switched on.
func counting(fd int) (bool, error) {
	var args rescanArgs
	err := ioctl(fd, ioctlRescan, unsafe.Pointer(&args))
	return args.running != 0, err
}

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

// read is one number of a subvolume's quota group.
func (b *btrfs) read(id uint64, name string) (uint64, error) {
	text, err := os.ReadFile(filepath.Join(b.groups, fmt.Sprintf("0_%d", id), name))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, ErrUncounted
	}
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
}

// text is something about all quota groups; "" where this kernel does not say.
func (b *btrfs) text(name string) string {
	text, _ := os.ReadFile(filepath.Join(b.groups, name))
	return strings.TrimSpace(string(text))
}

func (b *btrfs) number(name string) int64 {
	n, _ := strconv.ParseInt(b.text(name), 10, 64)
	return n
}

// countAll has full quota groups never lose count: by default the kernel
// gives up, and with it the limits, when a big snapshot is dropped.
func (b *btrfs) countAll() {
	if !b.simple {
		const deepest = "8" // no tree is deeper
		_ = os.WriteFile(filepath.Join(b.groups, "drop_subtree_threshold"), []byte(deepest), 0)
	}
}
