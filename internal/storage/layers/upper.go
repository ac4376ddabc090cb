package layers

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/forkbox/forkbox"
)

// Upper is one filesystem of the machine as a box changed it.
type Upper struct {
	Mount string // the mount point in the machine
	Dir   string // the upper directory
}

// unfinished is what an upper directory is until it was given the mode of what
// it covers. One that a kill left so, with nothing in it, is made again.
const unfinished = fs.ModeSticky | 0o700

func isUnfinished(dir string) bool {
	st, err := os.Lstat(dir)
	if err != nil || st.Mode()&^fs.ModeDir != unfinished {
		return false
	}
	names, err := os.ReadDir(dir)
	return err == nil && len(names) == 0
}

// NewUpper makes the upper directory of one filesystem, to which the caller
// gives the mode of what it covers. made is false when the box has it already.
func (s *Store) NewUpper(id, mount string) (dir string, made bool, err error) {
	const op = "create the box's storage"
	name, err := Escape(mount)
	if err != nil {
		return "", false, err
	}
	dir = filepath.Join(s.Upper(id), name)
	if err := s.ease(id); err != nil {
		return "", false, forkbox.Wrap(op, err)
	}
	switch err := s.mkdirInTop(id, s.Upper(id), dir, unfinished); {
	case errors.Is(err, fs.ErrExist):
		return dir, isUnfinished(dir), nil
	case err != nil:
		return "", false, forkbox.Wrap(op, err)
	}
	return dir, true, nil
}

// mkdirInTop makes dir, and parent and the top if need be. A box that was
// never started has neither: most of them take over a spare, with all its
// directories.
func (s *Store) mkdirInTop(id, parent, dir string, mode fs.FileMode) error {
	err := os.Mkdir(dir, mode)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := s.driver.mkdir(s.Top(id)); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := s.holdNew(id, s.Top(id)); err != nil {
		return err
	}
	if err := s.ease(id); err != nil {
		return err
	}
	if err := os.Mkdir(parent, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return os.Mkdir(dir, mode)
}

// Uppers lists the filesystems that a box has an upper directory for, sorted
// by mount point.
func (s *Store) Uppers(id string) ([]Upper, error) {
	const op = "list the box's filesystems"
	uppers, err := uppersIn(s.Upper(id))
	if errors.Is(err, fs.ErrNotExist) {
		if exists(s.Dir(id)) {
			return nil, nil // it has written nothing
		}
		return nil, forkbox.Errorf(forkbox.NotFound, op, "box %q has no storage", id)
	}
	return uppers, forkbox.Wrap(op, err)
}

// LayerUppers is like [Store.Uppers], of a layer.
func (s *Store) LayerUppers(layer string) ([]Upper, error) {
	const op = "list the layer's filesystems"
	uppers, err := uppersIn(s.Layer(layer))
	if errors.Is(err, fs.ErrNotExist) {
		if s.HasLayer(layer) {
			return nil, nil
		}
		return nil, noLayer(op, layer)
	}
	return uppers, forkbox.Wrap(op, err)
}

func uppersIn(dir string) ([]Upper, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var uppers []Upper
	for _, e := range entries {
		mount, err := Unescape(e.Name())
		if err != nil {
			return nil, err
		}
		uppers = append(uppers, Upper{Mount: mount, Dir: filepath.Join(dir, e.Name())})
	}
	slices.SortFunc(uppers, func(a, b Upper) int { return strings.Compare(a.Mount, b.Mount) })
	return uppers, nil
}
