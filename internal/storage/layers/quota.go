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

// quotas limits what boxes write.
type quotas struct {
	paths
	holder       quota.Holder // nil where nothing here can
	disk, inodes forkbox.Holding
}

// Quota says how the store holds a limit on what a box writes: on the bytes,
// and on the number of files. It was found out by trying.
func (q *quotas) Quota() (disk, inodes forkbox.Holding) { return q.disk, q.inodes }

// findQuota looks for what can limit a top, and tries it.
func (q *quotas) findQuota(d driver) {
	h, err := quota.Find(q.trash())
	if err == nil && !h.Files() && d.name() != (btrfs{}).name() {
		err = &quota.Missing{Why: "on btrfs only subvolumes can be limited, and the store does not keep boxes in them",
			Hint: "leave the way to keep layers to forkbox (FORKBOX_LAYERS)"}
	}
	if err == nil {
		err = q.tryQuota(h, d)
	}
	if err != nil {
		q.disk, q.inodes = watched(err), watched(err)
		return
	}
	q.holder = h
	q.disk = forkbox.Holding{How: forkbox.Enforced}
	q.inodes = q.disk
	if !h.Files() {
		q.inodes = watched(&quota.Missing{Why: h.Name() + " do not limit the number of files (the limit on bytes holds for them too)",
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
func (q *quotas) tryQuota(h quota.Holder, d driver) error {
	name := "trial." + rand.Text()
	dir := filepath.Join(q.trash(), name)
	if err := d.mkdir(dir); err != nil {
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
	return errors.Join(err, removeTree(context.Background(), q.trash(), name))
}

// SetQuota limits what the box's top takes from now on, until it is called
// again: bytes and inodes, -1 is none. It is for boxes at rest and for running
// ones. A box that never had a limit costs it nothing.
//
// Where [Store.Quota] says Watched the kernel does not hold it; the store
// remembers it only.
func (q *quotas) SetQuota(_ context.Context, box string, bytes, inodes int64) error {
	const op = "limit what the box writes"
	if err := checkID(op, box); err != nil {
		return err
	}
	if bytes < quota.None || inodes < quota.None {
		return forkbox.Errorf(forkbox.Invalid, op, "%d bytes and %d files are no limits", bytes, inodes)
	}
	if !exists(q.Dir(box)) {
		return noBox(op, box)
	}
	want := allowance{bytes, inodes}
	was, noted := q.readNote(box)
	if want == unlimited && !noted {
		return nil
	}
	if want != was {
		if err := q.writeNote(box, want); err != nil {
			return forkbox.Wrap(op, err)
		}
	}
	return wrapQuota(op, q.apply(q.Top(box), want))
}

func wrapQuota(op string, err error) error {
	if errors.Is(err, quota.ErrUncounted) {
		return forkbox.Errorf(forkbox.Unsupported, op, "its files were written by an earlier version of forkbox, or before the store had quotas: %w", err).
			Hint("make a new box, or accept that the limit is only watched (--limits=best-effort)")
	}
	return forkbox.Wrap(op, err)
}

// readNote reads the note of a box. noted is false where there is none.
func (q *quotas) readNote(box string) (a allowance, noted bool) {
	text, err := os.Readlink(filepath.Join(q.Dir(box), noteName))
	if err != nil {
		return unlimited, false
	}
	if n, err := fmt.Sscanf(text, "%d %d", &a.bytes, &a.files); n != 2 || err != nil {
		return unlimited, false
	}
	return a, true
}

// writeNote replaces the note in one step.
func (q *quotas) writeNote(box string, a allowance) error {
	path := filepath.Join(q.Dir(box), noteName)
	fresh := path + "." + rand.Text()
	if err := os.Symlink(fmt.Sprintf("%d %d", a.bytes, a.files), fresh); err != nil {
		return err
	}
	if err := os.Rename(fresh, path); err != nil {
		return errors.Join(err, os.Remove(fresh))
	}
	return nil
}

// apply has the kernel hold a top to what it may take.
func (q *quotas) apply(top string, a allowance) error {
	if q.holder == nil {
		return nil
	}
	var err error
	if a == unlimited {
		err = q.holder.Lift(top)
	} else {
		err = q.holder.Limit(top, a.bytes, a.files)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the top gets it when it is made
	}
	return err
}

// applyToNew limits a top that was just made, if its box is limited.
func (q *quotas) applyToNew(box, top string) error {
	if q.holder == nil {
		return nil
	}
	if a, noted := q.readNote(box); noted && a != unlimited {
		return wrapQuota("limit what the box writes", q.apply(top, a))
	}
	return nil
}

// lift lifts the limits of what was a box's top and is one no more. Nothing
// about a layer is limited, and no project keeps a limit that nothing has.
// What fails here does no harm but that.
func (q *quotas) lift(box, dir string) {
	if q.holder == nil {
		return
	}
	if _, noted := q.readNote(box); noted {
		_ = q.holder.Lift(dir)
	}
}
