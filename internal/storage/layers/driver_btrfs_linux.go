package layers

import (
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
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
