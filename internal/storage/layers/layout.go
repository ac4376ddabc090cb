package layers

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/forkbox/forkbox"
)

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
