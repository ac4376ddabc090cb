package pool

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func needRoot(op string) error {
	if os.Geteuid() == 0 {
		return nil
	}
	return forkbox.Errorf(forkbox.Denied, op, "only root can mount a filesystem").
		Hint("do it as root, for the daemon that runs as root")
}

// noneStored refuses where a store has something in it: it would be out of
// sight when another store is used, or gone.
func noneStored(op, dir string) error {
	for _, shelf := range []struct{ dir, what, remedy string }{
		{"boxes", "boxes", "forkbox ls lists them, forkbox rm removes them"},
		{"layers", "snapshots", "forkbox rm BOX@SNAPSHOT and forkbox template rm remove them"},
		{"roots", "images", "forkbox rm and forkbox template rm remove what was made of them"},
	} {
		names, err := stored(filepath.Join(dir, shelf.dir))
		if err != nil {
			return forkbox.Wrap(op, err)
		}
		if len(names) > 0 {
			return forkbox.Errorf(forkbox.Busy, op, "the store has %s: %s", shelf.what, some(names)).
				Hint("%s; or use another directory (FORKBOX_HOME)", shelf.remedy)
		}
	}
	return nil
}

// stored names what lies on a shelf. What is half-made does not count, nor what
// the daemon keeps ready for no box yet.
func stored(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") && !strings.HasPrefix(e.Name(), "spare-") {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

func some(names []string) string {
	const few = 3
	if len(names) > few {
		names = append(names[:few:few], "…")
	}
	return strings.Join(names, ", ")
}

// lock has one process at a time do something to the pool of a home. It is the
// directory that is locked: the file may not be there yet, and a lock on it
// would stay with its loop device.
func lock(ctx context.Context, op, home string) (unlock func(), err error) {
	dir, err := os.Open(home)
	if err != nil {
		return nil, forkbox.Wrap(op, err)
	}
	if err := flock(ctx, dir); err != nil {
		dir.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, forkbox.Errorf(forkbox.Busy, op, "another command is changing it").Hint("try again in a moment")
		}
		return nil, forkbox.Wrap(op, err)
	}
	return func() { dir.Close() }, nil
}

// flock waits a little: others take a moment to mount or to make a pool.
func flock(ctx context.Context, f *os.File) error {
	const tries, pause = 250, 20 * time.Millisecond
	for n := 0; ; n++ {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) || n == tries {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}
