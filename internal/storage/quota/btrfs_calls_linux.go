package quota

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
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
	var args infoArgs
	if err := ioctl(fd, ioctlInfo, unsafe.Pointer(&args)); err != nil {
		return "", err
	}
	id := args.fsid
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:]), nil
}

// volumeID is the id of the subvolume that a directory lies in.
func volumeID(fd int) (uint64, error) {
	args := lookupArgs{object: volumeRoot}
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
