package layers

import (
	"context"
	"os"

	"github.com/forkbox/forkbox"
)

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
