package pool

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/storage/quota"
)

// Pool is a pool that is mounted.
type Pool struct {
	home   string
	simple bool

	mu sync.Mutex
}

const opOpen = "open the pool"

// Open mounts the pool of a home; nil if it has none. What an earlier daemon
// left mounted is used as it is. Who may not enter the home may not enter the
// pool.
//
// A home with boxes beside its pool is refused: one of the two was put there by
// hand, and its boxes would be out of sight.
func Open(ctx context.Context, home string) (*Pool, error) {
	home, err := filepath.EvalSymlinks(home) // as the mount table has it
	if err == nil {
		home, err = filepath.Abs(home)
	}
	if errors.Is(err, fs.ErrNotExist) || err == nil && !exists(File(home)) {
		return nil, nil
	}
	if err != nil {
		return nil, forkbox.Wrap(opOpen, err)
	}
	if err := needRoot(opOpen); err != nil {
		return nil, err
	}
	if err := noneStored(opOpen, home); err != nil {
		return nil, err
	}
	p := &Pool{home: home}
	if err := p.open(ctx); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *Pool) open(ctx context.Context) error {
	unlock, err := lock(ctx, opOpen, p.home)
	if err != nil {
		return err
	}
	defer unlock()
	fresh, err := p.mount()
	if err != nil {
		return forkbox.Wrap(opOpen, err)
	}
	p.simple, err = quota.Enable(ctx, p.Dir())
	if err == nil {
		err = p.fit() // what a Grow that was interrupted left to do
	}
	if err != nil && fresh {
		err = errors.Join(err, unix.Unmount(p.Dir(), unix.UMOUNT_NOFOLLOW))
	}
	return forkbox.Wrap(opOpen, err)
}

// Dir is where it is mounted: the directory for the store.
func (p *Pool) Dir() string { return Dir(p.home) }

// mount mounts it, unless it is.
func (p *Pool) mount() (fresh bool, err error) {
	if err := os.Mkdir(p.Dir(), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return false, err
	}
	dev, err := device(File(p.home))
	if err != nil {
		return false, err
	}
	defer dev.Close() // what is mounted keeps it
	switch source, err := mounted(p.Dir()); {
	case err != nil:
		return false, err
	case source == dev.Name():
		return false, p.lock()
	case source != "":
		return false, forkbox.Errorf(forkbox.Busy, opOpen, "%s is mounted at %s", source, p.Dir()).Hint("unmount it")
	}
	// Deleted blocks are given back to the host, some time after.
	const options = "discard=async"
	if err := unix.Mount(dev.Name(), p.Dir(), "btrfs", unix.MS_NOATIME, options); err != nil {
		return false, forkbox.Errorf(forkbox.Internal, opOpen, "mount %s: %w", File(p.home), err).
			Hint("see what the kernel says (dmesg); the file can be checked with btrfs check")
	}
	return true, errors.Join(os.Chmod(p.Dir(), 0o700), p.lock())
}

// lock has no program in the pool get rights by its owner, and no device in it
// be one, by any user who gets to it: boxes of root's leave such files. In a
// box they are seen through an overlay, which does not ask the mount below it.
func (p *Pool) lock() error {
	const flags = unix.MS_REMOUNT | unix.MS_BIND | unix.MS_NOATIME | unix.MS_NOSUID | unix.MS_NODEV
	return os.NewSyscallError("remount", unix.Mount("", p.Dir(), "", flags, ""))
}

// mounted is the device that is mounted at a directory, "" if none is.
func mounted(dir string) (source string, err error) {
	mounts, err := mountinfo.GetMounts(mountinfo.SingleEntryFilter(dir))
	if err != nil || len(mounts) == 0 {
		return "", err
	}
	return mounts[len(mounts)-1].Source, nil
}

// fit has the filesystem be as big as its file.
func (p *Pool) fit() error {
	info, err := os.Stat(File(p.home))
	if err != nil {
		return err
	}
	var st unix.Statfs_t
	if err := unix.Statfs(p.Dir(), &st); err != nil {
		return err
	}
	if int64(st.Blocks)*int64(st.Frsize) >= info.Size()&^4095 {
		return nil
	}
	dev, err := findLoop(File(p.home))
	if err != nil {
		return err
	}
	if dev == nil {
		return fmt.Errorf("%s has no loop device", File(p.home))
	}
	defer dev.Close()
	if err := dev.resize(); err != nil {
		return err
	}
	return quota.Fill(p.Dir())
}
