package layers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

// holdDepth is how many directories the deletion holds open below one
// another. What lies deeper is moved up first, so that a box cannot use up
// the daemon's file descriptors by nesting directories.
const holdDepth = 64

// remover deletes one tree. It works from directory to directory by file
// descriptor: the names in a box were chosen by what ran there, and a path
// could be made to lead elsewhere.
type remover struct {
	ctx   context.Context
	top   int // the root of the tree, where deep directories are moved to
	moved int
	names []byte // room for a part of a directory
}

// removeTree deletes dir/name and everything below it.
func removeTree(ctx context.Context, dir, name string) error {
	parent, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", dir, err)
	}
	defer unix.Close(parent)
	if err := unlink(parent, name); !errors.Is(err, unix.EISDIR) {
		return err
	}
	if deleteSubvolume(ctx, parent, name) {
		return nil
	}
	top, err := enter(parent, name)
	if err != nil {
		return ignoreGone(err)
	}
	defer unix.Close(top)
	return newRemover(ctx, top).removeDir(parent, name, top, 0)
}

func newRemover(ctx context.Context, top int) *remover {
	return &remover{ctx: ctx, top: top, names: make([]byte, 64<<10)}
}

// removeDir deletes the directory parent/name, which is open as dir. Deleting
// while listing may make a filesystem skip entries, and deep directories arrive
// at the top meanwhile, so it lists again as long as something is left.
func (r *remover) removeDir(parent int, name string, dir, depth int) error {
	for {
		if err := r.drain(dir, depth); err != nil {
			return err
		}
		err := unix.Unlinkat(parent, name, unix.AT_REMOVEDIR)
		if !errors.Is(err, unix.ENOTEMPTY) && !errors.Is(err, unix.EEXIST) {
			return ignoreGone(err)
		}
	}
}

// drain deletes what is in an open directory, a part at a time.
func (r *remover) drain(dir, depth int) error {
	for more := true; more; {
		var names []string
		var err error
		if names, more, err = r.list(dir); err != nil {
			return err
		}
		for _, name := range names {
			if err := r.remove(dir, name, depth); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *remover) remove(dir int, name string, depth int) error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	if err := unlink(dir, name); !errors.Is(err, unix.EISDIR) {
		return err
	}
	// The top of a box is a subvolume at times, and a crash may leave the snapshot
	// that a still was being copied from anywhere in it. What a box makes never is.
	if deleteSubvolume(r.ctx, dir, name) {
		return nil
	}
	sub, err := enter(dir, name)
	if err != nil {
		return ignoreGone(err)
	}
	defer unix.Close(sub)
	if depth >= holdDepth {
		return r.moveUp(dir, name)
	}
	if depth == 0 { // nothing can be moved out of it if it is a subvolume
		r = &remover{ctx: r.ctx, top: sub, names: r.names}
	}
	return r.removeDir(dir, name, sub, depth+1)
}

// moveUp renames a directory to the top of the tree, where a later round of
// drain finds it. Replacing an empty directory there is welcome.
func (r *remover) moveUp(dir int, name string) error {
	for {
		r.moved++
		err := unix.Renameat(dir, name, r.top, "deep."+strconv.Itoa(r.moved))
		if !errors.Is(err, unix.ENOTEMPTY) && !errors.Is(err, unix.EEXIST) && !errors.Is(err, unix.ENOTDIR) {
			return ignoreGone(err)
		}
	}
}

// unlink deletes anything but a directory, for which it returns EISDIR. It
// never follows a symlink, and a whiteout is a device like any other.
func unlink(dir int, name string) error {
	err := unix.Unlinkat(dir, name, 0)
	if errors.Is(err, unix.EBUSY) {
		return stillMounted(name)
	}
	return ignoreGone(err)
}

// enter opens a directory for listing and deleting in it. It does not cross
// into a mounted filesystem: what is mounted is not ours to delete.
func enter(dir int, name string) (int, error) {
	fd, err := unix.Openat2(dir, name, &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_XDEV | unix.RESOLVE_NO_SYMLINKS,
	})
	if errors.Is(err, unix.EXDEV) {
		return -1, stillMounted(name)
	}
	if err != nil {
		return -1, fmt.Errorf("open %q: %w", name, err)
	}
	defer unix.Close(fd)
	if err := unlock(fd); err != nil {
		return -1, fmt.Errorf("make %q writable: %w", name, err)
	}
	fd, err = unix.Openat(fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("open %q: %w", name, err)
	}
	return fd, nil
}

// unlock lets the owner in: overlayfs makes its work directory with mode 000,
// and a box may leave directories without write permission. The descriptor is
// O_PATH, which fchmod refuses; its name in /proc is not refused and cannot be
// swapped for a symlink.
func unlock(fd int) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&0o700 == 0o700 {
		return nil
	}
	return unix.Chmod("/proc/self/fd/"+strconv.Itoa(fd), 0o700)
}

// list names some of a directory's entries, from its start, and says whether
// there are likely to be more.
func (r *remover) list(dir int) (names []string, more bool, err error) {
	if _, err := unix.Seek(dir, 0, 0); err != nil {
		return nil, false, err
	}
	n := 0
	for len(names) == 0 { // there may have been nothing but . and ..
		if n, err = unix.ReadDirent(dir, r.names); n <= 0 || err != nil {
			return nil, false, ignoreGone(err) // another task was faster
		}
		_, _, names = unix.ParseDirent(r.names[:n], -1, nil)
	}
	return names, n > len(r.names)/2, nil
}

func stillMounted(name string) error {
	return forkbox.Errorf(forkbox.Busy, "delete a box's files", "a filesystem is still mounted at %q", name).
		Hint("stop the box, or unmount what was mounted there by hand, and remove it again")
}

// ignoreGone forgives a file that another task deleted first.
func ignoreGone(err error) error {
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	return err
}

// giveBack has the room of what was removed be there for the next who asks,
// where there is little: btrfs gives it back with its next transaction, which may
// be half a minute later.
func giveBack(trash string) {
	dir, err := os.Open(trash)
	if err != nil {
		return
	}
	defer dir.Close()
	if crowded(int(dir.Fd())) {
		_ = unix.Syncfs(int(dir.Fd()))
	}
}

// crowded says whether a directory is on a btrfs that has little room left. On
// other filesystems what is removed is gone at once.
func crowded(dir int) bool {
	var st unix.Statfs_t
	return unix.Fstatfs(dir, &st) == nil && uint32(st.Type) == unix.BTRFS_SUPER_MAGIC && st.Bavail < st.Blocks/8
}
