package quota

import (
	"fmt"
	"unsafe"
)

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
