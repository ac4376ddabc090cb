package pool

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

const opInit = "make the pool"

// Init makes the pool of a home that has no boxes yet. After a crash there is
// either none, and it can be repeated, or a whole one. Nothing is mounted: that
// is for [Open].
func Init(ctx context.Context, home string, size int64) error {
	home, err := filepath.Abs(home)
	if err != nil {
		return forkbox.Wrap(opInit, err)
	}
	if err := mayInit(home, size); err != nil {
		return err
	}
	unlock, err := lock(ctx, opInit, home)
	if err != nil {
		return err
	}
	defer unlock()
	if exists(File(home)) {
		return forkbox.Errorf(forkbox.Exists, opInit, "there is one already").
			Hint("it can be made bigger: forkbox store grow")
	}
	return forkbox.Wrap(opInit, create(ctx, File(home), size))
}

func mayInit(home string, size int64) error {
	if err := needRoot(opInit); err != nil {
		return err
	}
	if err := tooSmall(opInit, size); err != nil {
		return err
	}
	if _, err := exec.LookPath("mkfs.btrfs"); err != nil {
		return forkbox.Errorf(forkbox.Unsupported, opInit, "mkfs.btrfs is not installed").Hint(hintPackage)
	}
	if err := os.MkdirAll(home, 0o700); err != nil {
		return forkbox.Wrap(opInit, err)
	}
	return noneStored(opInit, home)
}

// create makes the filesystem in a file of another name, that was never used
// before: the mkfs of an attempt that was killed may still run, or only begin,
// and finds its file by its name.
func create(ctx context.Context, path string, size int64) (err error) {
	if err := removeDrafts(filepath.Dir(path)); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new-*")
	if err != nil {
		return err
	}
	draft := f.Name()
	defer f.Close()
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(draft))
		}
	}()
	noCopyOnWrite(f)
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := format(ctx, f, size); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	// What the name stands for has to be on the disk before the name is.
	if err := f.Sync(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := unix.Renameat2(unix.AT_FDCWD, draft, unix.AT_FDCWD, path, unix.RENAME_NOREPLACE); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

func format(ctx context.Context, f *os.File, size int64) error {
	if err := f.Truncate(size); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "mkfs.btrfs", "--quiet", "--label", "forkbox", f.Name())
	if out, err := cmd.CombinedOutput(); err != nil {
		return forkbox.Errorf(forkbox.Internal, opInit, "mkfs.btrfs: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

// noCopyOnWrite is for a home that lies on btrfs itself, where a file that is
// written all over would fall to pieces (chattr +C). Others say no.
func noCopyOnWrite(f *os.File) {
	const flag = 0x00800000 // FS_NOCOW_FL
	if flags, err := unix.IoctlGetUint32(int(f.Fd()), unix.FS_IOC_GETFLAGS); err == nil {
		_ = unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, int(flags|flag))
	}
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
