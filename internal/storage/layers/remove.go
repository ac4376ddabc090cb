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
	s.lift(id, s.Top(id))
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
	err := errors.Join(s.sweepDrafts(s.layers()), s.sweepDrafts(s.roots()), s.emptyTrash(ctx))
	if s.holder != nil {
		err = errors.Join(err, s.holder.Sweep())
	}
	return forkbox.Wrap("empty the trash", err)
}

func (s *Store) emptyTrash(ctx context.Context) error {
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

// BinOf is a directory for what is taken out of a box's upper directories, and
// for what is made to be put there. It is the box's own: [Store.Bin] is emptied
// by every removal, with what another task was about to put in its place, and
// nothing can be renamed out of a subvolume, as a top may be. [Store.EmptyBin]
// empties it.
func (s *Store) BinOf(id string) (string, error) {
	const op = "prepare the box's trash"
	if err := checkID(op, id); err != nil {
		return "", err
	}
	if err := s.makeRoom(id); err != nil { // deleting needs some room first
		return "", forkbox.Wrap(op, err)
	}
	bin := filepath.Join(s.Top(id), "bin")
	return bin, forkbox.Wrap(op, os.MkdirAll(bin, 0o700))
}

// EmptyBin deletes what is in [Store.BinOf]. Should a crash come first, it
// goes with the top: no snapshot has it.
func (s *Store) EmptyBin(ctx context.Context, id string) error {
	const op = "empty the box's trash"
	if err := checkID(op, id); err != nil {
		return err
	}
	return forkbox.Wrap(op, removeTree(ctx, s.Top(id), "bin"))
}
