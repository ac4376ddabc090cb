package layers

import (
	"context"
	"os"
	"path/filepath"

	"github.com/forkbox/forkbox"
)

// HasLayer says whether the layer is in the store, which means all of it.
func (s *Store) HasLayer(layer string) bool { return ValidID(layer) && exists(s.layer(layer)) }

// Layers names the layers, sorted.
func (s *Store) Layers() ([]string, error) { return namesIn(s.layers(), ValidID) }

// NewLayer begins a layer that does not come from a box: an imported one, or
// several that are merged. It has no filesystem yet; see [Draft.Mount].
func (s *Store) NewLayer(ctx context.Context, layer string) (*Draft, error) {
	const op = "create the layer"
	if err := checkID(op, layer); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	d, err := s.begin(op, s.layer(layer), s.emptyLayer)
	return d, forkbox.Wrap(op, err)
}

func (s *Store) emptyLayer(dir string) error {
	if err := s.driver.mkdir(dir); err != nil {
		return err
	}
	return os.Mkdir(filepath.Join(dir, "upper"), 0o700)
}

// RemoveLayer deletes a layer, as [Store.Remove] does a box: it is gone with
// the first rename, and what is left of an interrupted removal goes with the
// next, or with [Store.EmptyTrash]. Nothing may lie over it any more.
func (s *Store) RemoveLayer(ctx context.Context, layer string) error {
	const op = "remove the layer"
	if err := checkID(op, layer); err != nil {
		return err
	}
	s.forgetSize(layer)
	return forkbox.Wrap(op, s.remove(ctx, s.layer(layer), "layer."+layer))
}

func noLayer(op, layer string) error {
	return forkbox.Errorf(forkbox.NotFound, op, "the layer %q is not in the store", layer)
}

// namesIn lists a directory of the store, without what is still being made.
func namesIn(dir string, valid func(string) bool) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, forkbox.Wrap("list the store", err)
	}
	var names []string
	for _, e := range entries {
		if valid(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}
