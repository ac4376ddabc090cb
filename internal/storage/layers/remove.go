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
	if err := checkID(op, id); err != nil {
		return err
	}
	s.letGo(id, s.Top(id))
	return forkbox.Wrap(op, s.remove(ctx, s.Dir(id), id))
}

// remove deletes something by way of a name in the trash that is its alone.
func (s *Store) remove(ctx context.Context, path, name string) error {
	// What an interrupted removal of the same thing left goes first.
	if err := removeTree(ctx, s.trash(), name); err != nil {
		return err
	}
	switch err := os.Rename(path, filepath.Join(s.trash(), name)); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	}
	if err := removeTree(ctx, s.trash(), name); err != nil {
		return err
	}
	giveBack(s.trash())
	return nil
}

// Bin takes what is to be deleted, by a rename. [Store.EmptyTrash] deletes it.
func (s *Store) Bin() string { return s.trash() }

// EmptyTrash finishes the removals that a crash interrupted, and removes what
// it left half-made. Only the process that makes layers may call it.
func (s *Store) EmptyTrash(ctx context.Context) error {
	err := errors.Join(s.sweep(s.layers()), s.sweep(s.roots()), s.empty(ctx))
	if s.holder != nil {
		err = errors.Join(err, s.holder.Sweep())
	}
	return forkbox.Wrap("empty the trash", err)
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
