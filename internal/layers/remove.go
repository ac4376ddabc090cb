package layers

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/forkbox/forkbox"
)

// Remove deletes a box's files. The rename into the trash is what removes the
// box; the rest may be interrupted anywhere and is finished by the next Remove
// or by [Store.EmptyTrash]. Removing what is gone succeeds.
func (s *Store) Remove(ctx context.Context, id string) error {
	const op = "remove the box's storage"
	if !ValidID(id) {
		return forkbox.Errorf(forkbox.Invalid, op, "%q is not an id", id)
	}
	if err := s.discard(id); err != nil {
		return forkbox.Wrap(op, err)
	}
	return forkbox.Wrap(op, s.empty(ctx, func(name string) bool {
		return strings.HasPrefix(name, id+".")
	}))
}

// EmptyTrash finishes the removals that a crash interrupted.
func (s *Store) EmptyTrash(ctx context.Context) error {
	return forkbox.Wrap("empty the trash", s.empty(ctx, func(string) bool { return true }))
}

// discard moves a box into the trash, under a name that no earlier removal of
// the same id can have left there.
func (s *Store) discard(id string) error {
	slot, err := os.MkdirTemp(s.trash(), id+".")
	if err != nil {
		return err
	}
	err = os.Rename(s.Dir(id), filepath.Join(slot, "box"))
	if errors.Is(err, fs.ErrNotExist) {
		return os.Remove(slot)
	}
	if err != nil {
		return errors.Join(err, os.Remove(slot))
	}
	return nil
}

func (s *Store) empty(ctx context.Context, which func(name string) bool) error {
	entries, err := os.ReadDir(s.trash())
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		if which(e.Name()) {
			errs = append(errs, removeTree(ctx, s.trash(), e.Name()))
		}
	}
	return errors.Join(errs...)
}
