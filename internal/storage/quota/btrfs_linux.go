package quota

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox/internal/linux"
)

// btrfs limits subvolumes by their quota groups. There are two kinds. Full
// ones count what a subvolume refers to, shared or not. Simple ones (Linux 6.7)
// count what was first written in it, until that is freed: a snapshot begins
// with nothing, and costs nothing to make and to drop.
//
// Usage is read from sysfs, which knows what the kernel knows; the quota tree
// on the disk, where the btrfs tools look, is half a minute behind.
type btrfs struct {
	groups string // the directory of the quota groups in sysfs
	root   string // a directory on the filesystem that is not limited
	simple bool
}

func findBtrfs(dir string) (Holder, error) {
	b, err := openBtrfs(dir)
	if err != nil {
		return nil, err
	}
	if !b.on() {
		return nil, &Missing{Why: "quotas are off on the btrfs that the store lies on",
			Hint: "switch them on (btrfs quota enable --simple " + dir + "), or make a pool of forkbox's own: forkbox store init --size 50G"}
	}
	if b.number("inconsistent") == 1 {
		return nil, &Missing{Why: "the quotas of the btrfs that the store lies on have lost count",
			Hint: "have it count again: btrfs quota rescan -w " + dir}
	}
	return b, nil
}

func openBtrfs(dir string) (*btrfs, error) {
	var id string
	err := inDir(dir, func(fd int) (err error) { id, err = filesystemID(fd); return err })
	if err != nil {
		return nil, fmt.Errorf("ask for the id of the btrfs at %s: %w", dir, err)
	}
	b := &btrfs{groups: filepath.Join("/sys/fs/btrfs", id, "qgroups"), root: dir}
	b.simple = b.text("mode") == "squota"
	return b, nil
}

// on: the kernel has the directory while quotas are on. The file in it that
// says so is younger (Linux 6.1).
func (b *btrfs) on() bool {
	if _, err := os.Stat(b.groups); err != nil {
		return false
	}
	return b.text("enabled") != "0"
}

func (b *btrfs) Name() string {
	if b.simple {
		return "btrfs simple quotas"
	}
	return "btrfs quota groups"
}

func (b *btrfs) Files() bool { return false }
func (b *btrfs) Once() bool  { return b.simple }

// noLimit is how btrfs spells it.
const noLimit = ^uint64(0)

func (b *btrfs) Limit(dir string, bytes, _ int64) error {
	most := noLimit
	if bytes >= 0 {
		most = uint64(bytes)
	}
	id, err := b.ID(dir)
	if err != nil {
		return err
	}
	// Not by way of the subvolume itself: one that is full has no room for the
	// kernel to note another limit.
	if err := inDir(b.root, func(fd int) error { return limitGroup(fd, id, most) }); err != nil {
		return fmt.Errorf("limit the quota group of %s: %w", dir, err)
	}
	return nil
}

func (b *btrfs) Lift(dir string) error { return b.Limit(dir, None, None) }

func (b *btrfs) Limits(dir string) (bytes, files int64, err error) {
	id, err := b.ID(dir)
	if err != nil {
		return 0, 0, err
	}
	most, err := b.read(id, "max_referenced")
	if err != nil || most == 0 || most == noLimit { // 0 is what it says before any was set
		return None, None, err
	}
	return int64(most), None, nil
}

// Used is what has been written with what still has to be: data that waits in
// memory counts for the limit too.
func (b *btrfs) Used(dir string) (bytes, files int64, err error) {
	id, err := b.ID(dir)
	if err != nil {
		return 0, 0, err
	}
	written, err := b.read(id, "referenced")
	if err != nil {
		return 0, 0, err
	}
	waiting, err := b.read(id, "rsv_data")
	return int64(written + waiting), None, err
}

// ID is that of the subvolume whose root dir is. A directory below one has no
// quota group of its own, and must not be taken for it.
func (b *btrfs) ID(dir string) (id uint64, err error) {
	err = inDir(dir, func(fd int) error {
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return err
		}
		if st.Ino != linux.SubvolumeRoot {
			return ErrUncounted
		}
		id, err = volumeID(fd)
		return err
	})
	return id, err
}

// Sweep removes the quota groups of subvolumes that are gone. Kernels before
// 6.11 keep them all. A simple one stays as long as a snapshot has something
// that was written there: the kernel says EBUSY.
func (b *btrfs) Sweep() error {
	entries, err := os.ReadDir(b.groups)
	if err != nil {
		return err
	}
	return inDir(b.root, func(fd int) error {
		var errs []error
		for _, e := range entries {
			var id uint64
			if n, err := fmt.Sscanf(e.Name(), "0_%d", &id); n != 1 || err != nil || id < firstVolume {
				continue
			}
			if err := removeStale(fd, id); err != nil {
				errs = append(errs, fmt.Errorf("remove quota group 0/%d: %w", id, err))
			}
		}
		return errors.Join(errs...)
	})
}

func removeStale(fd int, id uint64) error {
	if there, err := hasVolume(fd, id); there || err != nil {
		return err
	}
	switch err := removeGroup(fd, id); {
	case errors.Is(err, unix.EBUSY), errors.Is(err, unix.ENOENT):
		return nil
	default:
		return err
	}
}
