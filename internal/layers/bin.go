package layers

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/forkbox/forkbox"
)

// BinOf is a [Store.Bin] for what is taken out of a box's upper directories:
// nothing can be renamed out of a subvolume, so that a top that is one has its
// own. [Store.EmptyBin] empties it.
func (s *Store) BinOf(id string) (string, error) {
	const op = "prepare the box's trash"
	if err := checkID(op, id); err != nil {
		return "", err
	}
	if !isSubvolume(s.Top(id)) {
		return s.trash(), nil
	}
	if err := s.ease(id); err != nil { // who deletes needs some room first
		return "", forkbox.Wrap(op, err)
	}
	bin := filepath.Join(s.Top(id), "bin")
	err := os.Mkdir(bin, 0o700)
	if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	return bin, forkbox.Wrap(op, err)
}

// EmptyBin deletes what is in [Store.BinOf]. Should a crash come first, it
// goes with the top: no snapshot has it.
func (s *Store) EmptyBin(ctx context.Context, id string) error {
	const op = "empty the box's trash"
	if err := checkID(op, id); err != nil {
		return err
	}
	if isSubvolume(s.Top(id)) {
		return forkbox.Wrap(op, removeTree(ctx, s.Top(id), "bin"))
	}
	return s.EmptyTrash(ctx)
}
