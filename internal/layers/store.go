// Package layers keeps the files of boxes on disk.
//
//	<home>/boxes/<id>/upper/<escaped mount point>/   what the box changed on that filesystem
//	<home>/boxes/<id>/work/<escaped mount point>/    overlayfs needs it beside the upper
//	<home>/boxes/<id>/base/                          what reality was at the fork, where a merge needs it
//	<home>/boxes/<id>/<exec>.log                     what its execs wrote
//	<home>/trash/                                    being deleted
//
// It describes; it never mounts. A box at rest is this directory and nothing
// else.
package layers

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/forkbox/forkbox"
)

// Store is the directory that boxes live in.
type Store struct{ home string }

// Upper is one filesystem of the machine as a box changed it.
type Upper struct {
	Mount string // the mount point in the machine
	Dir   string // the upper directory
}

// noBox stands in for an id that is not one. No id has a dot, so nothing is
// ever made there and nothing outside the store is ever named.
const noBox = ".invalid"

// Open prepares home, which only its owner may enter: upper directories hold
// setuid files and copies of private ones.
func Open(home string) (*Store, error) {
	const op = "open the store"
	home, err := filepath.Abs(home)
	if err != nil {
		return nil, forkbox.Wrap(op, err)
	}
	s := &Store{home: home}
	for _, dir := range []string{s.boxes(), s.trash()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, forkbox.Wrap(op, err)
		}
	}
	spread(s.boxes())
	return s, nil
}

// Create makes the directory of a new box. What is in it is made when the box
// is started.
func (s *Store) Create(ctx context.Context, id string) error {
	const op = "create the box's storage"
	if !ValidID(id) {
		return forkbox.Errorf(forkbox.Invalid, op, "%q is not an id", id)
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

// NewUpper makes the upper directory of one filesystem. made is false when the
// box has it already.
func (s *Store) NewUpper(id, mount string) (dir string, made bool, err error) {
	const op = "create the box's storage"
	name, err := Escape(mount)
	if err != nil {
		return "", false, err
	}
	dir = filepath.Join(s.Upper(id), name)
	switch err := mkdirIn(s.Upper(id), dir); {
	case errors.Is(err, fs.ErrExist):
		return dir, false, nil
	case err != nil:
		return "", false, forkbox.Wrap(op, err)
	}
	return dir, true, nil
}

// mkdirIn makes dir, and parent if need be. A box that was never started has
// neither: most of them take over a spare, with all its directories.
func mkdirIn(parent, dir string) error {
	err := os.Mkdir(dir, 0o700)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Mkdir(parent, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return os.Mkdir(dir, 0o700)
}

// List names everything that is kept as a box, sorted. What the
// ledger does not know is for doctor to report, never to delete: it may be
// somebody's work.
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

// Uppers lists the filesystems that a box has an upper directory for, sorted
// by mount point.
func (s *Store) Uppers(id string) ([]Upper, error) {
	const op = "list the box's filesystems"
	entries, err := os.ReadDir(s.Upper(id))
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(s.Dir(id)); err == nil {
			return nil, nil // never started
		}
		return nil, forkbox.Errorf(forkbox.NotFound, op, "box %q has no storage", id)
	}
	if err != nil {
		return nil, forkbox.Wrap(op, err)
	}
	var uppers []Upper
	for _, e := range entries {
		mount, err := Unescape(e.Name())
		if err != nil {
			return nil, err
		}
		uppers = append(uppers, Upper{Mount: mount, Dir: filepath.Join(s.Upper(id), e.Name())})
	}
	slices.SortFunc(uppers, func(a, b Upper) int { return strings.Compare(a.Mount, b.Mount) })
	return uppers, nil
}

// Dir is all of a box. Like the paths below it lies in the store whatever id
// is: a string that is not an id leads to a place where nothing is.
func (s *Store) Dir(id string) string { return filepath.Join(s.boxes(), safe(id)) }

// Upper holds one upper directory per filesystem, named by [Escape].
func (s *Store) Upper(id string) string { return filepath.Join(s.Dir(id), "upper") }

// Work holds overlayfs's own directories, named as in Upper.
func (s *Store) Work(id string) string { return filepath.Join(s.Dir(id), "work") }

// Base holds what is known of reality as it was when the box was forked.
func (s *Store) Base(id string) string { return filepath.Join(s.Dir(id), "base") }

// Bin takes what is to be deleted, by a rename. [Store.EmptyTrash] deletes it.
func (s *Store) Bin() string { return s.trash() }

// Log is the file that an exec's output is kept in.
func (s *Store) Log(id, exec string) string {
	return filepath.Join(s.Dir(id), safe(exec)+".log")
}

func (s *Store) boxes() string { return filepath.Join(s.home, "boxes") }
func (s *Store) trash() string { return filepath.Join(s.home, "trash") }

func safe(id string) string {
	if ValidID(id) {
		return id
	}
	return noBox
}

// ValidID says whether id can name a box or an exec: letters, digits, dashes
// and underscores, so that no id is a path.
func ValidID(id string) bool {
	if id == "" || len(id) > 64 {
		return false
	}
	for _, c := range []byte(id) {
		if !alphanumeric(c) && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

func alphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
