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

// byReflink shares the blocks of each file, twice while the services go on, then
// stops them and does it again for the files that have changed since. Sharing writes
// to disk first what is only in memory, which takes seconds after much was written:
// little of that is left when they are stopped, and few files.
func (t *taking) byReflink(ctx context.Context) error {
	total, err := survey(ctx, t.items, nil, nil)
	if err != nil {
		return err
	}
	m := newMirror(mustShare)
	m.step = t.steps(total.bytes)
	for range 2 {
		if err := m.pass(ctx, t.items, true, t.mapped()); err != nil {
			return unshared(err)
		}
	}
	left, err := survey(ctx, t.items, m.seen, t.mapped())
	if err != nil {
		return err
	}
	left.processes = len(t.family())
	if pause := left.pauseToShare(); pause > t.MaxPause {
		return unfit{t.tooLong(pause)}
	}
	err = t.stopped(ctx, func(ctx context.Context, _ *frozen) error { return m.pass(ctx, t.items, false, t.mapped()) })
	t.count(m)
	return unshared(err)
}

// unshared has another way be tried where something cannot be shared: a filesystem
// that is mounted in the data, a file that is never copied on write.
func unshared(err error) error {
	if noSharing(err) {
		return unfit{err}
	}
	return err
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
