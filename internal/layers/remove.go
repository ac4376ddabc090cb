package layers

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

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
	// What an interrupted removal of the same box left goes first.
	err := removeTree(ctx, s.trash(), id)
	if err == nil {
		err = os.Rename(s.Dir(id), filepath.Join(s.trash(), id))
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err == nil:
		err = removeTree(ctx, s.trash(), id)
	}
	return forkbox.Wrap(op, err)
}

// EmptyTrash finishes the removals that a crash interrupted.
func (s *Store) EmptyTrash(ctx context.Context) error {
	return forkbox.Wrap("empty the trash", s.empty(ctx))
}

func (s *Store) empty(ctx context.Context) error {
	entries, err := os.ReadDir(s.trash())
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		errs = append(errs, removeTree(ctx, s.trash(), e.Name()))
	}
	return errors.Join(errs...)
}
