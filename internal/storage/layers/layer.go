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

// HasRoot says whether the root is in the store, which means all of it.
func (s *Store) HasRoot(name string) bool { return validRoot(name) && exists(s.Root(name)) }

// Roots names the roots, sorted.
func (s *Store) Roots() ([]string, error) { return namesIn(s.roots(), validRoot) }

// NewRoot begins a root: the draft's directory becomes the root directory that
// boxes see. The name is an id or a digest ("sha256:…").
func (s *Store) NewRoot(ctx context.Context, name string) (*Draft, error) {
	const op = "create the root"
	if err := checkRoot(op, name); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	d, err := s.begin(op, s.Root(name), func(dir string) error {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		return os.Chmod(dir, 0o755) // whatever our umask: its boxes' users must get in
	})
	return d, forkbox.Wrap(op, err)
}

// RemoveRoot deletes a root as [Store.RemoveLayer] does a layer.
func (s *Store) RemoveRoot(ctx context.Context, name string) error {
	const op = "remove the root"
	if err := checkRoot(op, name); err != nil {
		return err
	}
	return forkbox.Wrap(op, s.remove(ctx, s.Root(name), "root."+name))
}

func checkRoot(op, name string) error {
	if !validRoot(name) {
		return forkbox.Errorf(forkbox.Invalid, op, "%q cannot name a root", name)
	}
	return nil
}
