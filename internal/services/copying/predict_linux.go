package copying

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

// What things took on two shared cores, with room to spare.
const (
	speedUnmeasured = 400 << 20 // bytes per second, of comparing files that are in memory
	enoughToMeasure = 32 << 20  // less says nothing of the speed
	perShared       = 250 * time.Microsecond
	perLooked       = 20 * time.Microsecond
	perProcess      = 2 * time.Millisecond
	toStop          = 30 * time.Millisecond
	toSnapshot      = 60 * time.Millisecond // after the filesystem was synced
)

// recently is how long ago a file was written to that will be again.
const recently = 5 * time.Second

// Predict says how Take would do it without doing it, with the pause that it
// expects. near is a directory where the copy would lie.
func Predict(ctx context.Context, sources []Source, near string) (way string, pause time.Duration, err error) {
	const op = "foresee how the service's data would be copied"
	roots, err := rootsOf(sources)
	if err != nil {
		return "", 0, forkbox.Wrap(op, err)
	}
	if len(roots) == 0 {
		return Plain, 0, nil
	}
	t := &taking{sources: sources, roots: roots}
	t.items = itemsOf(sources)
	for i := range t.items {
		t.items[i].to = filepath.Join(near, "copy")
	}
	if s, ok := onlyOnline(sources); ok && s.Online.Memory {
		return Engine, 0, nil
	}
	t.MaxPause = time.Hour // whatever it takes
	if t.snapable() == nil {
		if t.durable() {
			return Snapshot, 0, nil
		}
		return Snapshot, toSnapshot, nil
	}
	sharable := t.sharable() == nil
	if _, ok := onlyOnline(sources); ok && !sharable {
		return Engine, 0, nil
	}
	found, err := survey(ctx, t.items, nil, t.mapped())
	if err != nil {
		return "", 0, forkbox.Wrap(op, err)
	}
	found.processes = len(t.family())
	if sharable {
		return Reflink, round(found.pauseToShare()), nil
	}
	return Delta, round(found.pause(speedUnmeasured)), nil
}

// load is what there is to copy.
type load struct {
	files     int
	bytes     int64
	warm      int64 // of files that have changed since they were copied, or lately
	changed   int   // how many those are
	processes int
}

// pause is how long it takes to bring a copy up to date.
func (l load) pause(speed float64) time.Duration {
	reading := time.Duration(float64(l.warm) / speed * float64(time.Second))
	return toStop + time.Duration(l.processes)*perProcess + time.Duration(l.files)*perLooked + reading
}

// pauseToShare is how long it takes to share the blocks of those that have changed.
func (l load) pauseToShare() time.Duration {
	return toStop + time.Duration(l.processes)*perProcess + time.Duration(l.files)*perLooked + time.Duration(l.changed)*perShared
}

// round makes a time one that people read.
func round(d time.Duration) time.Duration {
	if d > time.Second {
		return d.Round(100 * time.Millisecond)
	}
	return d.Round(10 * time.Millisecond)
}

// survey looks at what there is to copy, and what of it differs from what was seen
// when it was copied; without that, what was written to lately.
func survey(ctx context.Context, items []item, seen map[string]mark, mapped map[string]bool) (l load, err error) {
	since := unix.NsecToTimespec(time.Now().Add(-recently).UnixNano())
	for _, it := range items {
		err := filepath.WalkDir(it.from, func(path string, e fs.DirEntry, err error) error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			rel, _ := filepath.Rel(it.from, path)
			if err != nil || !e.Type().IsRegular() || dropped(it.drop, rel) {
				return nil // what cannot be read is told when it is copied
			}
			info, err := e.Info()
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			l.add(path, info, seen, since, mapped)
			return nil
		})
		if err != nil {
			return l, err
		}
	}
	return l, nil
}

func (l *load) add(path string, info fs.FileInfo, seen map[string]mark, since unix.Timespec, mapped map[string]bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return
	}
	l.files++
	l.bytes += st.Size
	now := mark{inode{uint64(st.Dev), st.Ino}, st.Size, unix.Timespec(st.Ctim), unix.Timespec(st.Mtim), false}
	warm := earlier(since, now.changed)
	if seen != nil {
		warm = !seen[path].same(now)
	}
	if warm || mapped[path] {
		l.warm += st.Size
		l.changed++
	}
}
