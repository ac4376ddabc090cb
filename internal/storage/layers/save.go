package layers

import (
	"context"
	"errors"
	"fmt"
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
			s.lift(box, s.layer(layer))
			s.tidy(ctx, s.layer(layer))
			return nil
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
	}
	if !exists(top) {
		return s.makeDraft(s.layer(layer), s.emptyLayer)
	}
	return s.makeDraft(s.layer(layer), func(dir string) error {
		if err := s.clone(ctx, top, dir, still); err != nil {
			return err
		}
		s.lift(box, dir) // some kernels give a snapshot the limit of its source
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
	return forkbox.Wrap(op, s.makeDraft(s.Top(box), func(dir string) error {
		if err := s.clone(ctx, s.layer(layer), dir, true); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, originName), []byte(layer), 0o600); err != nil {
			return err
		}
		return s.applyToNew(box, dir)
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
	s.lift(box, s.Top(box))
	return forkbox.Wrap(op, s.remove(ctx, s.Top(box), "top."+box))
}

// makeDraft has something made as a draft and gives it its name, or removes it.
func (s *Store) makeDraft(final string, make func(dir string) error) error {
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

// ofName is the note in a layer that says whose top it was, and how many of its
// tops became layers until then. It is a symbolic link, whose text lies with
// its name: what a power cut leaves of the rename it leaves of the note.
const ofName = "of"

// Shelve turns what a box at rest wrote into a layer, whatever the driver: the
// box has no top afterwards. times is how often that happened to it, with this
// one. It can be repeated after a crash: a layer that is there is whole, and a
// box without a top has nothing to give.
func (s *Store) Shelve(_ context.Context, box, layer string, times int) error {
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
	s.lift(box, s.Top(box)) // a top that is full has no room for a note
	note := filepath.Join(s.Top(box), ofName)
	_ = os.Remove(note) // of an attempt that failed
	_ = os.Remove(filepath.Join(s.Top(box), tookName))
	s.noteTook(s.Top(box), s.Top(box))
	err := os.Symlink(fmt.Sprintf("%s %d", box, times), note)
	if err == nil {
		err = rename(s.Top(box), s.layer(layer)) // what overlayfs kept for itself goes with the layer
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil { // it stays the top
		err = errors.Join(err, s.applyToNew(box, s.Top(box)))
	}
	return forkbox.Wrap(op, err)
}

// ShelvedFrom says whose top a layer was, and how many of its tops had become
// layers with it.
func (s *Store) ShelvedFrom(layer string) (box string, times int, ok bool) {
	text, err := os.Readlink(filepath.Join(s.layer(layer), ofName))
	if err != nil {
		return "", 0, false
	}
	n, err := fmt.Sscanf(text, "%s %d", &box, &times)
	return box, times, err == nil && n == 2 && ValidID(box)
}

// Unshelve makes a layer the top of its box again. A box that has one is
// refused with the code Exists.
func (s *Store) Unshelve(_ context.Context, layer, box string) error {
	const op = "restore what the box wrote"
	if err := checkID(op, box, layer); err != nil {
		return err
	}
	if exists(s.Top(box)) {
		return forkbox.Errorf(forkbox.Exists, op, "it has written something since")
	}
	s.forgetSize(layer)
	if err := rename(s.layer(layer), s.Top(box)); err != nil {
		return forkbox.Wrap(op, err)
	}
	_ = os.Remove(filepath.Join(s.Top(box), tookName)) // it is a layer's
	return s.applyToNew(box, s.Top(box))
}
