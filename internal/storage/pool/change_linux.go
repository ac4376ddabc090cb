package pool

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

// Grow makes the pool bigger, while boxes write to it. After a crash it has
// the old size or the new one, at the latest when it is opened again.
func (p *Pool) Grow(ctx context.Context, size int64) error {
	const op = "make the pool bigger"
	p.mu.Lock()
	defer p.mu.Unlock()
	info, err := os.Stat(File(p.home))
	if err != nil {
		return forkbox.Wrap(op, err)
	}
	if size < info.Size() {
		return forkbox.Errorf(forkbox.Invalid, op, "it has %d bytes, which is more than %d", info.Size(), size).
			Hint("a pool can only grow; what is not used in it takes no space on the host")
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := os.Truncate(File(p.home), size); err != nil {
		return forkbox.Wrap(op, err)
	}
	if err := ctx.Err(); err != nil { // done at the next Open
		return err
	}
	return forkbox.Wrap(op, p.fit())
}

// Status is how full the pool is.
func (p *Pool) Status() (Status, error) {
	const op = "look how full the pool is"
	var file unix.Stat_t
	var in, host unix.Statfs_t
	if err := errors.Join(unix.Stat(File(p.home), &file), unix.Statfs(p.Dir(), &in), unix.Statfs(p.home, &host)); err != nil {
		return Status{}, forkbox.Wrap(op, err)
	}
	return Status{
		Size:      file.Size,
		Used:      int64(in.Blocks-in.Bfree) * int64(in.Frsize),
		Free:      int64(in.Bavail) * int64(in.Frsize),
		Allocated: file.Blocks * 512,
		HostFree:  int64(host.Bavail) * int64(host.Frsize),
		Simple:    p.simple,
	}, nil
}

// Close unmounts the pool. What holds our mount of it, a file of a box that
// runs, keeps it mounted: that is an error with the code Busy, and nothing has
// changed.
//
// What has a mount of its own keeps the filesystem and its loop device alive
// without ours: a box, or another process's mount namespace that was made
// meanwhile. They go with the last of these, and an Open before that finds
// them.
func (p *Pool) Close(ctx context.Context) error {
	const op = "close the pool"
	p.mu.Lock()
	defer p.mu.Unlock()
	unlock, err := lock(ctx, op, p.home)
	if err != nil {
		return err
	}
	defer unlock()
	switch err := unix.Unmount(p.Dir(), unix.UMOUNT_NOFOLLOW); {
	case errors.Is(err, unix.EBUSY):
		return forkbox.Errorf(forkbox.Busy, op, "files in it are in use, as those of running boxes are").Hint("stop them first")
	case errors.Is(err, unix.EINVAL): // it is not mounted
		return nil
	default:
		return forkbox.Wrap(op, err)
	}
}

// Remove deletes the pool of a home. One with boxes is refused. A home without
// a pool is fine.
func Remove(ctx context.Context, home string) error {
	const op = "remove the pool"
	p, err := Open(ctx, home)
	if err != nil || p == nil {
		return errors.Join(err, removeDrafts(home))
	}
	if err := noneStored(op, p.Dir()); err != nil {
		return err
	}
	if err := p.Close(ctx); err != nil {
		return err
	}
	if err := os.Remove(File(p.home)); err != nil {
		return forkbox.Wrap(op, err)
	}
	return forkbox.Wrap(op, errors.Join(os.Remove(p.Dir()), removeDrafts(p.home), syncDir(p.home)))
}

// removeDrafts deletes what an Init that was killed left.
func removeDrafts(home string) error {
	drafts, err := filepath.Glob(File(home) + ".new-*")
	for _, draft := range drafts {
		if rerr := os.Remove(draft); !errors.Is(rerr, fs.ErrNotExist) {
			err = errors.Join(err, rerr)
		}
	}
	return forkbox.Wrap("remove what is left of a pool", err)
}
