package layers

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/forkbox/forkbox"
)

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
	if err := s.ease(id); err != nil {
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
