package layers

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/forkbox/forkbox"
)

// draftPrefix begins the name of what is not whole yet.
const draftPrefix = ".new-"

// Draft is a layer or a root while it is being filled. It is not seen under its
// name before [Draft.Keep].
type Draft struct {
	Dir string // to be filled; of a layer it has a directory "upper"

	store *Store
	final string
	ended bool
}

// begin claims the draft of something called final and has make make its
// directory. What a crash left of an earlier one goes to the trash.
func (s *Store) begin(op, final string, make func(dir string) error) (*Draft, error) {
	d := &Draft{Dir: filepath.Join(filepath.Dir(final), draftPrefix+filepath.Base(final)), store: s, final: final}
	if err := s.claim(op, d); err != nil {
		return nil, err
	}
	if err := make(d.Dir); err != nil {
		return nil, errors.Join(err, d.Abort())
	}
	return d, nil
}

func (s *Store) claim(op string, d *Draft) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.drafts[d.Dir] {
		return forkbox.Errorf(forkbox.Busy, op, "%s is being made already", filepath.Base(d.final)).
			Hint("try again when that is done")
	}
	if exists(d.final) {
		return forkbox.Errorf(forkbox.Exists, op, "%s is already there", d.final)
	}
	if _, err := s.throwAway(d.Dir); err != nil {
		return err
	}
	s.drafts[d.Dir] = true
	return nil
}

// Mount makes the directory of one filesystem in the draft of a layer. The
// second time it tells the same.
func (d *Draft) Mount(mount string) (dir string, err error) {
	name, err := Escape(mount)
	if err != nil {
		return "", err
	}
	dir = filepath.Join(d.Dir, "upper", name)
	err = os.Mkdir(dir, 0o755)
	if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	return dir, forkbox.Wrap("create the layer", err)
}

// Keep gives the draft its name. After an error it is still a draft.
func (d *Draft) Keep() error {
	const op = "keep what was made"
	if d.ended {
		return forkbox.Errorf(forkbox.Internal, op, "%s was kept or removed before", d.final)
	}
	err := rename(d.Dir, d.final)
	if errors.Is(err, fs.ErrExist) {
		return forkbox.Errorf(forkbox.Exists, op, "%s is already there", d.final)
	}
	if err != nil {
		return forkbox.Wrap(op, err)
	}
	d.end()
	return nil
}

// Abort removes the draft, unless it was kept.
func (d *Draft) Abort() error {
	if d.ended {
		return nil
	}
	name, err := d.store.throwAway(d.Dir)
	d.end()
	if err == nil {
		err = removeTree(context.Background(), d.store.trash(), name)
	}
	return forkbox.Wrap("remove what was not finished", err)
}

func (d *Draft) end() {
	d.ended = true
	d.store.mu.Lock()
	defer d.store.mu.Unlock()
	delete(d.store.drafts, d.Dir)
}

// throwAway renames a draft into the trash, if there is one: it must never be
// deleted where it is, for the next draft has the same name.
func (s *Store) throwAway(dir string) (name string, err error) {
	name = "draft." + rand.Text()
	err = os.Rename(dir, filepath.Join(s.trash(), name))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return name, err
}

// sweepDrafts throws away the drafts that this process is not making.
func (s *Store) sweepDrafts(shelf string) error {
	entries, err := os.ReadDir(shelf)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, e := range entries {
		dir := filepath.Join(shelf, e.Name())
		if strings.HasPrefix(e.Name(), draftPrefix) && !s.drafts[dir] {
			_, err := s.throwAway(dir)
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
