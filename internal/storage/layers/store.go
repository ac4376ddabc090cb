// Package layers keeps the files of boxes, and the layers they lie over, on
// disk.
//
//	<home>/boxes/<id>/top/upper/<escaped mount point>/  what the box itself changed on that filesystem
//	<home>/boxes/<id>/top/work/<escaped mount point>/   overlayfs needs it beside the upper
//	<home>/boxes/<id>/base/                             what reality was at the fork, where a merge needs it
//	<home>/boxes/<id>/quota                             what its top may take, if that is limited
//	<home>/boxes/<id>/<exec>.log                        what its execs wrote
//	<home>/layers/<layer>/upper/<escaped mount point>/  what a box had changed, which never changes again
//	<home>/roots/<name>/                                the root directory of an image that boxes are based on
//	<home>/records/                                     what the ledger says of boxes, should it be lost
//	<home>/trash/                                       being deleted
//	<home>/layout                                       which version of this layout it is
//
// It describes; it never mounts. A box at rest is its directory and nothing
// else.
//
// A top becomes a layer ([Store.Save]) and a layer a top ([Store.Clone]) in
// one of four ways, see [Store.Driver]. What is being made has a name that
// begins with .new- until it is whole, and what is being deleted lies in the
// trash: whatever has its proper name is complete, after a crash as well. (It
// is not flushed to the disk: after a power failure a filesystem may lack what
// was made in its last seconds.)
package layers

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/forkbox/forkbox"
)

// Store is the directory that boxes and layers live in.
type Store struct {
	paths
	quotas
	lies   string // a directory on the filesystem that all this takes space of
	driver driver
	why    string // the driver was chosen

	mu     sync.Mutex
	drafts map[string]bool  // directories that are being filled
	sizes  map[string]int64 // of layers, as far as they were counted
}

// Open prepares home, which only its owner may enter: upper directories hold
// setuid files and copies of private ones. It takes the best driver that works
// there.
func Open(home string) (*Store, error) { return OpenWith(home, "") }

// OpenWith is [Open] with a driver of the caller's choice: "overlay", "btrfs",
// "reflink" or "copy"; "" leaves it to the store. One that does not work in
// home is refused, never replaced by another.
func OpenWith(home, driver string) (*Store, error) { return OpenIn(home, home, driver) }

// OpenIn is [OpenWith] for a store that is kept in a pool: home is where the
// pool is mounted, and lies a directory on the filesystem that the pool's file
// lies on, which is the one that can fill up.
func OpenIn(home, lies, driver string) (*Store, error) {
	const op = "open the store"
	home, err := filepath.Abs(home)
	if err != nil {
		return nil, forkbox.Wrap(op, err)
	}
	in := paths{home}
	s := &Store{paths: in, quotas: quotas{paths: in}, lies: lies, drafts: map[string]bool{}, sizes: map[string]int64{}}
	for _, dir := range []string{s.boxes(), s.layers(), s.roots(), s.trash()} {
		if err := makePrivate(dir); err != nil {
			return nil, forkbox.Wrap(op, err)
		}
	}
	spread(s.boxes())
	spread(s.layers())
	if err := s.upgrade(); err != nil {
		return nil, forkbox.Wrap(op, err)
	}
	s.driver, s.why, err = choose(driver, s.trash())
	if err != nil {
		return nil, err
	}
	s.findQuota(s.driver)
	return s, nil
}

// makePrivate makes a directory that only its owner gets into, and has one that
// is there be so. A box of root's can leave programs in the store that run as
// root for any user who executes them: no other user may get to them.
func makePrivate(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.Chmod(dir, 0o700)
}

// Create makes the directory of a new box. What is in it is made when the box
// is started.
func (s *Store) Create(ctx context.Context, id string) error {
	const op = "create the box's storage"
	if err := checkID(op, id); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	err := os.Mkdir(s.Dir(id), 0o700)
	if errors.Is(err, fs.ErrExist) {
		return forkbox.Errorf(forkbox.Exists, op, "%s is already there", s.Dir(id))
	}
	return forkbox.Wrap(op, err)
}

// Replace gives box, which has nothing yet, all that another has, and with it
// its place: in one step. It fails with [fs.ErrExist] if box has something.
func (s *Store) Replace(other, box string) error {
	const op = "create the box's storage"
	if err := checkID(op, other, box); err != nil {
		return err
	}
	if !exists(s.Dir(box)) { // it was removed, and stays so
		return noBox(op, box)
	}
	// Not os.Rename, which replaces no directory, not even an empty one.
	return forkbox.Wrap(op, syscall.Rename(s.Dir(other), s.Dir(box)))
}

// List names everything that is kept as a box, sorted. What the ledger does not
// know is for doctor to report, never to delete: it may be their owner's work.
func (s *Store) List() ([]string, error) {
	entries, err := os.ReadDir(s.boxes())
	if err != nil {
		return nil, forkbox.Wrap("list the store", err)
	}
	var ids []string
	for _, e := range entries {
		ids = append(ids, e.Name())
	}
	return ids, nil
}
