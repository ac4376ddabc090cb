package layers

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/forkbox/forkbox"
)

// Save makes a layer of what the box has written. still says that nothing in
// the box runs and nothing of it is mounted: only then may the top itself
// become the layer. A box that is not still must be frozen meanwhile.
//
// moved says that the box has no top any more and has to lie over the layer;
// else it goes on with the top that it has. A box that has written nothing
// gives an empty layer.
//
// Save can be repeated after a crash: a layer that is there is whole, and
// nothing is done but to tell moved again.
func (s *Store) Save(ctx context.Context, box, layer string, still bool) (moved bool, err error) {
	const op = "save what the box wrote"
	if err := checkID(op, box, layer); err != nil {
		return false, err
	}
	if !exists(s.Dir(box)) {
		return false, noBox(op, box)
	}
	if !s.HasLayer(layer) {
		if err := s.save(ctx, box, layer, still); err != nil {
			return false, forkbox.Wrap(op, err)
		}
	}
	return s.Stacks() && !exists(s.Top(box)), nil
}

func (s *Store) save(ctx context.Context, box, layer string, still bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	top := s.Top(box)
	if still && s.Stacks() {
		switch err := rename(top, s.layer(layer)); {
		case err == nil:
			s.letGo(box, s.layer(layer))
			s.tidy(ctx, s.layer(layer))
			return nil
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
	}
	if !exists(top) {
		return s.make(s.layer(layer), s.emptyLayer)
	}
	return s.make(s.layer(layer), func(dir string) error {
		if err := s.clone(ctx, top, dir, still); err != nil {
			return err
		}
		s.letGo(box, dir) // some kernels give a snapshot the limit of its source
		s.noteTook(top, dir)
		return nil
	})
}

// Clone gives a box that has no top one that begins as the layer. A box that
// has a top is refused with the code Exists, also when it got it by an earlier
// Clone.
func (s *Store) Clone(ctx context.Context, layer, box string) error {
	const op = "begin the box with the layer"
	if err := checkID(op, box, layer); err != nil {
		return err
	}
	switch {
	case !s.HasLayer(layer):
		return noLayer(op, layer)
	case !exists(s.Dir(box)):
		return noBox(op, box)
	}
	return forkbox.Wrap(op, s.make(s.Top(box), func(dir string) error {
		if err := s.clone(ctx, s.layer(layer), dir, true); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, originName), []byte(layer), 0o600); err != nil {
			return err
		}
		return s.holdNew(box, dir)
	}))
}

// originName is the file that says which layer a top began as.
const originName = "origin"

// Origin is the layer that a box's top began as a clone of, "" if it did not.
func (s *Store) Origin(box string) string {
	text, err := os.ReadFile(filepath.Join(s.Top(box), originName))
	if err != nil {
		return ""
	}
	return string(text)
}

// DropTop deletes what the box itself has written. The rename into the trash
// is what drops it; the rest is finished by the next DropTop or by
// [Store.EmptyTrash] if it is interrupted. A box without a top is fine.
func (s *Store) DropTop(ctx context.Context, box string) error {
	const op = "drop what the box wrote"
	if err := checkID(op, box); err != nil {
		return err
	}
	s.letGo(box, s.Top(box))
	return forkbox.Wrap(op, s.remove(ctx, s.Top(box), "top."+box))
}

// make has something made as a draft and gives it its name, or removes it.
func (s *Store) make(final string, make func(dir string) error) error {
	d, err := s.begin("make "+filepath.Base(final), final, make)
	if err != nil {
		return err
	}
	if err := d.Keep(); err != nil {
		return errors.Join(err, d.Abort())
	}
	return nil
}

func (s *Store) clone(ctx context.Context, from, to string, still bool) error {
	if err := s.driver.clone(ctx, from, to, still); err != nil {
		return err
	}
	s.tidy(ctx, to)
	return ctx.Err()
}

// tidy removes what a layer does not need: overlayfs's own directories. It is
// a few calls, and no harm where it fails.
func (s *Store) tidy(ctx context.Context, dir string) {
	for _, name := range []string{"work", "bin", originName, ofName, tookName} {
		_ = removeTree(ctx, dir, name)
	}
}

func noBox(op, box string) error {
	return forkbox.Errorf(forkbox.NotFound, op, "box %q has no storage", box)
}
