package copying

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/linux"
)

// volume is a subvolume of a btrfs that has all the data of services.
type volume struct {
	root string
	dir  int // open
	at   int // the directory where its snapshot is made, open
	name string
	path string // of the snapshot
}

// bySnapshot makes a snapshot of the subvolume that has the data, beside where the
// copy goes, copies from it by sharing blocks, and deletes it.
//
// A snapshot is what a power failure would have left: all that was synced, and of
// what was not synced something, later writes without earlier ones too. An engine
// that survives power failures needs no more, and is not stopped. Any other stands
// still while the snapshot is made, so that nothing is written that would have to
// be told apart.
func (t *taking) bySnapshot(ctx context.Context) error {
	v, err := t.volume()
	if err != nil {
		return unfit{err}
	}
	defer v.close()
	if err := v.try(); err != nil {
		return unfit{err}
	}
	if err := unix.Syncfs(v.dir); err != nil { // or the snapshot waits for it
		return err
	}
	if err := t.snapshot(ctx, v); err != nil {
		return err
	}
	return errors.Join(t.copyFrom(ctx, v), v.drop())
}

// snapshot makes it, with the services stopped if they have to be.
func (t *taking) snapshot(ctx context.Context, v *volume) error {
	make := func(context.Context, *frozen) error {
		return linux.SnapshotSubvolume(v.at, v.name, v.dir, true)
	}
	if t.durable() {
		t.taken.At, t.taken.Paused = time.Now(), 0
		return make(ctx, nil)
	}
	err := t.stopped(ctx, make)
	if err != nil { // it may have been made all the same, and too late
		err = errors.Join(err, v.drop())
	}
	return err
}

// durable says whether every service that runs survives power failures.
func (t *taking) durable() bool {
	for _, s := range t.sources {
		if s.PID != 0 && !s.Durable {
			return false
		}
	}
	return true
}

// copyFrom copies what there is in a snapshot.
func (t *taking) copyFrom(ctx context.Context, v *volume) error {
	m := newMirror(mayShare)
	var items []item
	was := map[string]string{}
	for _, it := range t.items {
		rel, err := filepath.Rel(v.root, it.from)
		if err != nil {
			return err
		}
		from := filepath.Join(v.path, rel)
		was[from] = it.from
		items = append(items, item{from: from, to: it.to, drop: it.drop})
	}
	total, err := survey(ctx, items, nil, nil)
	if err != nil {
		return err
	}
	m.step = t.steps(total.bytes)
	if err := m.pass(ctx, items, false, nil); err != nil {
		return err
	}
	t.count(m)
	t.taken.of = map[string]int64{}
	for from, bytes := range m.of {
		t.taken.of[was[from]] = bytes
	}
	return nil
}

// volume finds the subvolume that all the data lies in, with nothing of another in
// it, and a place for a snapshot of it.
func (t *taking) volume() (*volume, error) {
	v := &volume{dir: -1, at: -1, name: "snapshot." + rand.Text()}
	err := t.find(v)
	if err != nil {
		v.close()
	}
	return v, err
}

func (t *taking) find(v *volume) error {
	for _, it := range t.items {
		root, err := volumeOf(it.from)
		if err != nil {
			return err
		}
		if v.root == "" {
			v.root = root
		}
		if v.root != root {
			return fmt.Errorf("its data lies in two subvolumes, %s and %s", v.root, root)
		}
	}
	if v.root == "" {
		return errors.New("it has no data")
	}
	var err error
	if v.dir, err = linux.OpenAt(unix.AT_FDCWD, v.root, unix.O_RDONLY|unix.O_DIRECTORY, unix.RESOLVE_NO_SYMLINKS|unix.RESOLVE_NO_MAGICLINKS); err != nil {
		return err
	}
	near, err := filepath.EvalSymlinks(filepath.Dir(t.items[0].to))
	if err != nil {
		return err
	}
	v.path = filepath.Join(near, v.name)
	if v.at, err = unix.Open(near, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
		return err
	}
	return v.together()
}

// together says whether the snapshot would lie on the filesystem of the data.
func (v *volume) together() error {
	a, err := linux.BtrfsID(v.dir)
	if err != nil {
		return fmt.Errorf("%s is not on btrfs: %w", v.root, err)
	}
	b, err := linux.BtrfsID(v.at)
	if err != nil || a != b {
		return errors.New("forkbox's files are not on the btrfs that has the data")
	}
	return nil
}

// try makes a subvolume and deletes it: who is not root may make a snapshot, and
// not delete it, unless the filesystem is mounted with user_subvol_rm_allowed.
func (v *volume) try() error {
	name := "trial." + rand.Text()
	if err := linux.CreateSubvolume(v.at, name); err != nil {
		return err
	}
	err := linux.DeleteSubvolume(v.at, name)
	if err != nil {
		err = fmt.Errorf("a snapshot could not be deleted again: %w", err)
		return errors.Join(err, unix.Unlinkat(v.at, name, unix.AT_REMOVEDIR))
	}
	return nil
}

// drop deletes the snapshot, if there is one.
func (v *volume) drop() error {
	err := linux.DeleteSubvolume(v.at, v.name)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	return err
}

func (v *volume) close() {
	for _, fd := range []int{v.dir, v.at} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}

// volumeOf is the root directory of the subvolume that has a path and all below
// it.
func volumeOf(path string) (string, error) {
	var st unix.Stat_t
	err := unix.Lstat(path, &st)
	if errors.Is(err, unix.ENOENT) { // a file that comes and goes
		path = filepath.Dir(path)
		err = unix.Lstat(path, &st)
	} else if err == nil {
		err = within(path, uint64(st.Dev))
	}
	if err != nil {
		return "", err
	}
	for at := path; ; at = filepath.Dir(at) {
		var here unix.Stat_t
		if err := unix.Lstat(at, &here); err != nil {
			return "", err
		}
		switch {
		case here.Dev != st.Dev:
			return "", fmt.Errorf("the root of the subvolume of %s is not mounted above it", path)
		case here.Ino == linux.SubvolumeRoot && here.Mode&unix.S_IFMT == unix.S_IFDIR:
			return at, nil
		case at == "/":
			return "", fmt.Errorf("%s lies in no subvolume", path)
		}
	}
}

// within says whether anything below a path is of another filesystem or subvolume,
// which a snapshot would not have.
func within(path string, dev uint64) error {
	return filepath.WalkDir(path, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil // what cannot be read is told when it is copied
		}
		info, err := e.Info()
		if err != nil {
			return nil
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok && uint64(st.Dev) != dev {
			return fmt.Errorf("another subvolume or filesystem begins at %s", path)
		}
		return nil
	})
}

// snapable says why a snapshot cannot be made.
func (t *taking) snapable() error {
	v, err := t.volume()
	if err != nil {
		return err
	}
	v.close()
	if t.MaxPause <= 0 && !t.durable() {
		return forkbox.Errorf(forkbox.Busy, opTake, "%s would stand still for about %s while the snapshot is made", t.names(), toSnapshot)
	}
	return nil
}
