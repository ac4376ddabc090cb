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
	s.letGo(box, s.Top(box)) // a top that is full has no room for a note
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
		err = errors.Join(err, s.holdNew(box, s.Top(box)))
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
	return s.holdNew(box, s.Top(box))
}
