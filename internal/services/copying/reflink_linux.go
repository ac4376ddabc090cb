package copying

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/storage/filecopy"
)

// byReflink stops the services and shares the blocks of each file. Sharing writes
// to disk first what is only in memory, which takes seconds after much was
// written: so that is done before, twice, as the first time takes long.
func (t *taking) byReflink(ctx context.Context) error {
	total, err := survey(ctx, t.items, nil, nil)
	if err != nil {
		return err
	}
	if pause := pauseToShare(total.files); pause > t.MaxPause {
		return unfit{t.tooLong(pause)}
	}
	for range 2 {
		for _, it := range t.items {
			if err := flush(ctx, it.from); err != nil {
				return err
			}
		}
	}
	m := newMirror(mustShare)
	m.step = t.steps(total.bytes)
	err = t.stopped(ctx, func(ctx context.Context, _ *frozen) error { return m.pass(ctx, t.items, false, nil) })
	if noSharing(err) { // a filesystem that is mounted in the data, a file that is never copied on write
		return unfit{err}
	}
	t.count(m)
	return err
}

// flush has the content of files written to their disk. What cannot be opened is
// told when it is copied.
func flush(ctx context.Context, path string) error {
	return filepath.WalkDir(path, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return ctx.Err()
		}
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err != nil {
			return ctx.Err()
		}
		defer unix.Close(fd)
		_ = unix.Fdatasync(fd)
		return ctx.Err()
	})
}

// sharableAt says why a path's blocks cannot be shared with a file in a directory.
// It tries with the first block of a file.
func sharableAt(path, dir string) error {
	sample, err := sampleOf(path)
	if err != nil || sample == nil {
		return err // without a file there is nothing to share
	}
	defer sample.Close()
	trial, err := os.OpenFile(filepath.Join(dir, "trial."+rand.Text()), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer trial.Close()
	defer os.Remove(trial.Name())
	return filecopy.ShareStart(int(trial.Fd()), int(sample.Fd()))
}

// sampleOf opens a file at a path that has content, nil if there is none.
func sampleOf(path string) (*os.File, error) {
	var sample *os.File
	err := filepath.WalkDir(path, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return nil
		}
		if info, err := e.Info(); err != nil || info.Size() == 0 {
			return nil
		}
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if errors.Is(err, unix.ENOENT) {
			return nil
		}
		if err != nil {
			return &os.PathError{Op: "open", Path: path, Err: err}
		}
		sample = os.NewFile(uintptr(fd), path)
		return filepath.SkipAll
	})
	return sample, err
}

func (t *taking) tooLong(pause time.Duration) error {
	allowed := "it may not be stopped at all"
	if t.MaxPause > 0 {
		allowed = "it may for " + round(t.MaxPause).String()
	}
	return t.advise(forkbox.Errorf(forkbox.Busy, opTake, "%s would stand still for about %s, and %s", t.names(), round(pause), allowed), longer(pause))
}
