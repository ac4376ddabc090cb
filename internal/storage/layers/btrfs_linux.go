package layers

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox/internal/linux"
)

func (btrfs) mkdir(dir string) error {
	if err := createSubvolume(dir); err != nil {
		return err
	}
	return os.Chmod(dir, 0o700) // the kernel gives it what our umask leaves
}

func (b btrfs) clone(ctx context.Context, from, to string, still bool) error {
	if isSubvolume(from) {
		return snapshotSubvolume(from, to)
	}
	// It was made by an earlier version, or with another driver.
	if err := b.mkdir(to); err != nil {
		return err
	}
	return cloneTree(ctx, from, to, mayShare, still)
}

// try makes a subvolume: a container or a security module may forbid it.
func (b btrfs) try(dir string) error {
	if !onBtrfs(dir) {
		return errNotBtrfs
	}
	name := "trial." + rand.Text()
	if err := b.mkdir(filepath.Join(dir, name)); err != nil {
		return err
	}
	return removeTree(context.Background(), dir, name)
}

func createSubvolume(path string) error {
	return inParent(path, func(dir int, name string) error {
		if err := linux.CreateSubvolume(dir, name); err != nil {
			return fmt.Errorf("create subvolume %s: %w", path, err)
		}
		return nil
	})
}

func snapshotSubvolume(from, to string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	return inParent(to, func(dir int, name string) error {
		if err := linux.SnapshotSubvolume(dir, name, int(source.Fd()), false); err != nil {
			return fmt.Errorf("snapshot subvolume %s as %s: %w", from, to, err)
		}
		return nil
	})
}

func inParent(path string, do func(dir int, name string) error) error {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return do(int(dir.Fd()), filepath.Base(path))
}

// deleteSubvolume deletes a name in a directory with everything below it, if
// it is a subvolume and we may. Who is not root may only where the filesystem
// is mounted with user_subvol_rm_allowed; to empty and remove it as if it were
// a directory is allowed since Linux 4.18.
func deleteSubvolume(ctx context.Context, parent int, name string) (done bool) {
	var st unix.Stat_t
	err := unix.Fstatat(parent, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if err != nil || st.Ino != linux.SubvolumeRoot || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return false
	}
	// The ioctl wants a directory that is open for more than its path.
	dir, err := unix.Openat(parent, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(dir)
	if crowded(dir) {
		drainSubvolume(ctx, dir, name)
	}
	return linux.DeleteSubvolume(dir, name) == nil
}

// drainSubvolume deletes what is in a subvolume, as far as it can: btrfs deletes
// a whole one later, when it has the time, and its room is wanted now.
func drainSubvolume(ctx context.Context, parent int, name string) {
	top, err := enter(parent, name)
	if err != nil {
		return
	}
	defer unix.Close(top)
	r := newRemover(ctx, top)
	for left := []string{""}; len(left) > 0; left, _, err = r.list(top) { // deep directories arrive here meanwhile
		if err != nil || r.drain(top, 1) != nil {
			return
		}
	}
}

func isSubvolume(dir string) bool {
	var st unix.Stat_t
	return unix.Lstat(dir, &st) == nil && st.Ino == linux.SubvolumeRoot && st.Mode&unix.S_IFMT == unix.S_IFDIR && onBtrfs(dir)
}

func onBtrfs(dir string) bool {
	var st unix.Statfs_t
	return unix.Statfs(dir, &st) == nil && uint32(st.Type) == unix.BTRFS_SUPER_MAGIC
}
