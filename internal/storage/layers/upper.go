package layers

import (
	"context"
	"errors"
	"fmt"
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

// Has says whether a box changed anything in a directory of the machine there:
// more than directories, which are copied on the way to a file.
func (u Upper) Has(dir string) bool {
	in := u.Dir
	switch {
	case forkbox.Within(dir, u.Mount):
		in = filepath.Join(in, strings.TrimPrefix(dir, u.Mount))
	case !forkbox.Within(u.Mount, dir):
		return false
	}
	found := false
	_ = filepath.WalkDir(in, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			found = true
			return fs.SkipAll
		}
		return nil
	})
	return found
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
	if err := s.makeRoom(id); err != nil {
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
	if err := s.applyToNew(id, s.Top(id)); err != nil {
		return err
	}
	if err := s.makeRoom(id); err != nil {
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

// FreshWork makes the work directory of one filesystem anew. What an earlier
// mount left in it is overlayfs's own, never the box's; a volatile mount
// refuses a work directory that was used before.
func (s *Store) FreshWork(ctx context.Context, id, mount string) (string, error) {
	const op = "prepare the box's work directory"
	name, err := Escape(mount)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(s.Work(id), name)
	if err := s.makeRoom(id); err != nil {
		return "", forkbox.Wrap(op, err)
	}
	err = s.mkdirInTop(id, s.Work(id), dir, 0o700)
	if !errors.Is(err, fs.ErrExist) {
		return dir, forkbox.Wrap(op, err)
	}
	if err := removeTree(ctx, s.Work(id), name); err != nil {
		return "", forkbox.Wrap(op, err)
	}
	return dir, forkbox.Wrap(op, os.Mkdir(dir, 0o700))
}

// OpenWork makes what overlayfs left in a box's work directories deletable by
// its owner with the usual means: the kernel makes directories of mode 0 there.
func (s *Store) OpenWork(id string) {
	entries, _ := os.ReadDir(s.Work(id))
	for _, e := range entries {
		for _, dir := range []string{"work", "work/incompat", "work/incompat/volatile"} {
			_ = os.Chmod(filepath.Join(s.Work(id), e.Name(), dir), 0o700)
		}
	}
}

// layout is the version of the store's layout that this package works with.
// The first had no tops: boxes/<id>/upper and boxes/<id>/work. It had no file
// that said so either.
const layout = "2"

// upgrade brings a store of an earlier version to the present layout. It can
// be interrupted anywhere: every step is a rename that is not done twice, and
// the mark is made when all boxes are done. Boxes may run meanwhile: overlayfs
// holds its directories, not their names.
func (s *Store) upgrade() error {
	mark := filepath.Join(s.home, "layout")
	found, err := os.ReadFile(mark)
	version := strings.TrimSpace(string(found))
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	case version == layout:
		return nil
	case err == nil && version != "":
		return forkbox.Errorf(forkbox.Unsupported, "open the store", "%s has layout %q, this program knows %q", s.home, version, layout).
			Hint("use the version of forkbox that the store was made with, or a later one")
	}
	ids, err := s.List()
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := s.makeTop(id); err != nil {
			return fmt.Errorf("bring box %s to the present layout: %w", id, err)
		}
	}
	if err := os.WriteFile(mark+".new", []byte(layout+"\n"), 0o600); err != nil {
		return err
	}
	return os.Rename(mark+".new", mark)
}

// makeTop moves a box's directories below its top. The top is a plain
// directory whatever the driver: nothing can be renamed into a subvolume.
func (s *Store) makeTop(id string) error {
	dir := filepath.Join(s.boxes(), id)
	top := filepath.Join(dir, "top")
	for _, name := range []string{"upper", "work"} {
		old := filepath.Join(dir, name)
		if !exists(old) {
			continue
		}
		if err := os.Mkdir(top, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := rename(old, filepath.Join(top, name)); err != nil {
			return err
		}
	}
	return nil
}
