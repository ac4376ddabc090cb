package layers

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/storage/quota"
)

// noteName is the note in a box's directory of what its tops may take. The
// top changes, by a rollback or when it becomes a layer; the note stays. Like
// the others it is a symbolic link, whole or not there.
const noteName = "quota"

// allowance is what a top may take; quota.None is as much as it likes.
type allowance struct{ bytes, files int64 }

var unlimited = allowance{quota.None, quota.None}

// Quota says how the store holds a limit on what a box writes: on the bytes,
// and on the number of files. It was found out by trying.
func (s *Store) Quota() (disk, inodes forkbox.Holding) { return s.disk, s.inodes }

// findQuota looks for what can limit a top, and tries it.
func (s *Store) findQuota() {
	h, err := quota.Find(s.trash())
	if err == nil && !h.Files() && s.driver.name() != (btrfs{}).name() {
		err = &quota.Missing{Why: "on btrfs only subvolumes can be limited, and the store does not keep boxes in them",
			Hint: "leave the way to keep layers to forkbox (FORKBOX_LAYERS)"}
	}
	if err == nil {
		err = s.tryQuota(h)
	}
	if err != nil {
		s.disk, s.inodes = watched(err), watched(err)
		return
	}
	s.holder = h
	s.disk = forkbox.Holding{How: forkbox.Enforced}
	s.inodes = s.disk
	if !h.Files() {
		s.inodes = watched(&quota.Missing{Why: h.Name() + " do not limit the number of files (the limit on bytes holds for them too)",
			Hint: "keep the store on xfs or ext4 with project quotas"})
	}
}

func watched(err error) forkbox.Holding {
	h := forkbox.Holding{How: forkbox.Watched, Why: err.Error(), Hint: "make a pool that can be limited: forkbox store init --size 50G"}
	var missing *quota.Missing
	if errors.As(err, &missing) && missing.Hint != "" {
		h.Hint = missing.Hint
	}
	return h
}

// tryQuota limits a directory that is made like a top, and asks the kernel
// whether it does.
func (s *Store) tryQuota(h quota.Holder) error {
	name := "trial." + rand.Text()
	dir := filepath.Join(s.trash(), name)
	if err := s.driver.mkdir(dir); err != nil {
		return err
	}
	const some = 64 << 20
	err := h.Limit(dir, some, quota.None)
	if err == nil {
		var got int64
		if got, _, err = h.Limits(dir); err == nil && got != some {
			err = fmt.Errorf("a limit of %d bytes became one of %d", some, got)
		}
		err = errors.Join(err, h.Lift(dir))
	}
	return errors.Join(err, removeTree(context.Background(), s.trash(), name))
}

// SetQuota limits what the box's top takes from now on, until it is called
// again: bytes and inodes, -1 is none. It is for boxes at rest and for running
// ones. A box that never had a limit costs it nothing.
//
// Where [Store.Quota] says Watched the kernel does not hold it; the store
// remembers it only.
func (s *Store) SetQuota(_ context.Context, box string, bytes, inodes int64) error {
	const op = "limit what the box writes"
	if err := checkID(op, box); err != nil {
		return err
	}
	if bytes < quota.None || inodes < quota.None {
		return forkbox.Errorf(forkbox.Invalid, op, "%d bytes and %d files are no limits", bytes, inodes)
	}
	if !exists(s.Dir(box)) {
		return noBox(op, box)
	}
	want := allowance{bytes, inodes}
	was, noted := s.allowance(box)
	if want == unlimited && !noted {
		return nil
	}
	if want != was {
		if err := s.note(box, want); err != nil {
			return forkbox.Wrap(op, err)
		}
	}
	return wrapQuota(op, s.hold(s.Top(box), want))
}

func wrapQuota(op string, err error) error {
	if errors.Is(err, quota.ErrUncounted) {
		return forkbox.Errorf(forkbox.Unsupported, op, "its files were written by an earlier version of forkbox, or before the store had quotas: %w", err).
			Hint("make a new box, or accept that the limit is only watched (--limits=best-effort)")
	}
	return forkbox.Wrap(op, err)
}

// allowance reads the note of a box. noted is false where there is none.
func (s *Store) allowance(box string) (a allowance, noted bool) {
	text, err := os.Readlink(filepath.Join(s.Dir(box), noteName))
	if err != nil {
		return unlimited, false
	}
	if n, err := fmt.Sscanf(text, "%d %d", &a.bytes, &a.files); n != 2 || err != nil {
		return unlimited, false
	}
	return a, true
}

// note replaces the note in one step.
func (s *Store) note(box string, a allowance) error {
	path := filepath.Join(s.Dir(box), noteName)
	fresh := path + "." + rand.Text()
	if err := os.Symlink(fmt.Sprintf("%d %d", a.bytes, a.files), fresh); err != nil {
		return err
	}
	if err := os.Rename(fresh, path); err != nil {
		return errors.Join(err, os.Remove(fresh))
	}
	return nil
}

// hold has the kernel hold a top to what it may take.
func (s *Store) hold(top string, a allowance) error {
	if s.holder == nil {
		return nil
	}
	var err error
	if a == unlimited {
		err = s.holder.Lift(top)
	} else {
		err = s.holder.Limit(top, a.bytes, a.files)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the top gets it when it is made
	}
	return err
}

// holdNew limits a top that was just made, if its box is limited.
func (s *Store) holdNew(box, top string) error {
	if s.holder == nil {
		return nil
	}
	if a, noted := s.allowance(box); noted && a != unlimited {
		return wrapQuota("limit what the box writes", s.hold(top, a))
	}
	return nil
}

// letGo lifts the limits of what was a box's top and is one no more. Nothing
// about a layer is limited, and no project keeps a limit that nothing has.
// What fails here does no harm but that.
func (s *Store) letGo(box, dir string) {
	if s.holder == nil {
		return
	}
	if _, noted := s.allowance(box); noted {
		_ = s.holder.Lift(dir)
	}
}
