package layers

import (
	"context"
	"errors"
	"io/fs"

	"github.com/forkbox/forkbox"
)

// Shelve turns what a box at rest wrote into a layer, whatever the driver: the
// box has no top afterwards. It can be repeated after a crash: a layer that is
// there is whole, and a box without a top has nothing to give.
func (s *Store) Shelve(_ context.Context, box, layer string) error {
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
		return nil
	}
	return forkbox.Wrap(op, err) // what overlayfs kept for itself goes with the layer
}
