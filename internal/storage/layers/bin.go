package layers

import (
	"context"
	"os"
	"path/filepath"

	"github.com/forkbox/forkbox"
)

// BinOf is a directory for what is taken out of a box's upper directories, and
// for what is made to be put there. It is the box's own: [Store.Bin] is emptied
// by whoever deletes something, with what another was about to put in its place,
// and nothing can be renamed out of a subvolume, as a top may be.
// [Store.EmptyBin] empties it.
func (s *Store) BinOf(id string) (string, error) {
	const op = "prepare the box's trash"
	if err := checkID(op, id); err != nil {
		return "", err
	}
	if err := s.ease(id); err != nil { // who deletes needs some room first
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
