package layers

import (
	"context"
	"errors"
	"io/fs"

	"github.com/forkbox/forkbox"
)

// Shelve turns what a box at rest wrote into a layer, whatever the driver: the
// box has no top afterwards. It can be repeated after a crash: a layer that is
// there is whole. A box that has written nothing gives an empty layer.
func (s *Store) Shelve(ctx context.Context, box, layer string) error {
	const op = "save what the box wrote"
	if err := checkID(op, box, layer); err != nil {
		return err
	}
	if s.HasLayer(layer) {
		return nil
	}
	if !exists(s.Dir(box)) {
		return noBox(op, box)
	}
	err := rename(s.Top(box), s.layer(layer))
	if errors.Is(err, fs.ErrNotExist) {
		return forkbox.Wrap(op, s.make(s.layer(layer), s.emptyLayer))
	}
	if err == nil {
		s.tidy(ctx, s.layer(layer))
	}
	return forkbox.Wrap(op, err)
}
