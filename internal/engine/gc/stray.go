package gc

import (
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/bases"
	"github.com/forkbox/forkbox/internal/engine/core"
	"github.com/forkbox/forkbox/internal/storage/land"
)

// mounted is a provider that knows where the host's filesystems begin.
type mounted interface{ MountPoints() []string }

// Strays finds what applies have left in reality that no receipt accounts for.
// A landing works as high up on a filesystem as its owner may write, so that is
// where they are looked for: above dir, who's home, and what boxes and receipts
// are about, and at the top of every filesystem.
func (m *Manager) Strays(ctx context.Context, who forkbox.Owner, dir string) ([]forkbox.Stray, error) {
	const op = "look for what applies left behind"
	ctx, end, err := m.core.Begin(ctx, op)
	if err != nil {
		return nil, err
	}
	defer end()
	places, err := m.stagingPlaces(ctx, who, dir)
	if err != nil {
		return nil, forkbox.Wrap(op, err)
	}
	root, err := os.Open("/")
	if err != nil {
		return nil, forkbox.Wrap(op, err)
	}
	defer root.Close()
	strays := []forkbox.Stray{}
	for _, place := range places {
		for _, found := range land.FindStrays(root, place) {
			s, ok, err := m.stray(ctx, root, found, who)
			if err != nil {
				return nil, forkbox.Wrap(op, err)
			}
			if ok {
				strays = append(strays, s)
			}
		}
	}
	return strays, nil
}

// stagingPlaces are the directories that a landing of who's may have worked in.
func (m *Manager) stagingPlaces(ctx context.Context, who forkbox.Owner, dir string) ([]string, error) {
	below := []string{"/", dir, who.Home}
	if p, ok := m.core.Provider.(mounted); ok {
		below = append(below, p.MountPoints()...)
	}
	boxes, err := m.core.Ledger.Boxes(ctx, &who.UID)
	if err != nil {
		return nil, err
	}
	for _, b := range boxes {
		below = append(below, b.Dir)
	}
	receipts, err := m.core.Ledger.Receipts(ctx, &who.UID)
	if err != nil {
		return nil, err
	}
	for _, r := range receipts {
		below = append(below, r.Workdir)
		for _, x := range r.Entries {
			below = append(below, path.Dir(x.Path))
		}
	}
	var places []string
	seen := map[string]bool{}
	for _, d := range below {
		for d = path.Clean(d); path.IsAbs(d) && !seen[d]; d = path.Dir(d) {
			seen[d] = true
			places = append(places, d)
		}
	}
	slices.Sort(places)
	return places, nil
}

// stray looks at one. It says no where it is accounted for, or another user's.
func (m *Manager) stray(ctx context.Context, root *os.File, dir string, who forkbox.Owner) (s forkbox.Stray, ok bool, err error) {
	if known, err := m.accounted(ctx, path.Base(dir)); known || err != nil {
		return s, false, err
	}
	found, err := land.LookStray(root, dir, who)
	switch {
	case forkbox.CodeOf(err) == forkbox.Denied, core.IsNotFound(err), forkbox.CodeOf(err) == forkbox.Invalid:
		return s, false, nil // another user's, gone by now, or not what it looks like
	case err != nil:
		return forkbox.Stray{Dir: dir, Why: err.Error()}, true, nil
	case storeOf(found) != nil:
		return s, false, nil
	}
	return strayOf(found), true, nil
}

// accounted says whether this store has the receipt that a staging directory
// belongs to.
func (m *Manager) accounted(ctx context.Context, name string) (bool, error) {
	id := strings.TrimPrefix(name, ".forkbox-")
	if _, err := m.core.Ledger.Receipt(ctx, id); err == nil || !core.IsNotFound(err) {
		return err == nil, err
	}
	return m.core.Receipts != "" && bases.Exists(filepath.Join(m.core.Receipts, id)), nil
}

// storeOf is an error when the landing's own directory may still be there, in
// the store of another daemon: that one looks after it. Only where it certainly
// is not, its staging directory is a stray.
func storeOf(s land.Stray) error {
	if s.Landing == "" {
		return nil
	}
	_, err := os.Lstat(s.Landing)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err == nil:
		return forkbox.Errorf(forkbox.Busy, "touch "+s.Dir, "it belongs to a receipt in %s", s.Landing).
			Hint("undo it there: FORKBOX_HOME=%s forkbox undo %s", path.Dir(path.Dir(s.Landing)), s.ID)
	}
	return forkbox.Errorf(forkbox.Denied, "touch "+s.Dir, "it may belong to a receipt in a store that cannot be looked at: %w", err).
		Hint("ask root to do this")
}

func strayOf(s land.Stray) forkbox.Stray {
	store := ""
	if s.Landing != "" {
		store = path.Dir(path.Dir(s.Landing))
	}
	return forkbox.Stray{
		Dir: s.Dir, ID: s.ID, Owner: s.UID, Store: store, Files: s.Files, Kept: s.Kept, Paths: s.Paths,
		Restorable: s.Landing != "" && s.Touched,
	}
}

// MendStray restores a stray or deletes it. Nothing does so by itself.
func (m *Manager) MendStray(ctx context.Context, who forkbox.Owner, dir string, fate forkbox.StrayFate) (forkbox.StrayMended, error) {
	op := string(fate) + " " + dir
	done := forkbox.StrayMended{Fate: fate, Left: []forkbox.Caution{}}
	if fate != forkbox.RestoreStray && fate != forkbox.DeleteStray {
		return done, forkbox.Errorf(forkbox.Invalid, "mend "+dir, "%q is neither restore nor delete", fate)
	}
	ctx, end, err := m.core.Begin(ctx, op)
	if err != nil {
		return done, err
	}
	defer end()
	release, err := m.landing.HoldReality(ctx, op)
	if err != nil {
		return done, err
	}
	defer release()
	root, err := os.Open("/")
	if err != nil {
		return done, forkbox.Wrap(op, err)
	}
	defer root.Close()
	if err := m.mayMend(ctx, op, root, dir, who); err != nil {
		return done, err
	}
	var found land.Stray
	if fate == forkbox.DeleteStray {
		found, err = land.DeleteStray(root, dir, who)
	} else {
		found, done.Left, err = land.RestoreStray(root, dir, who)
	}
	if done.Left == nil {
		done.Left = []forkbox.Caution{}
	}
	done.Stray = strayOf(found)
	return done, err
}

// mayMend refuses what a receipt accounts for, of this store or another.
func (m *Manager) mayMend(ctx context.Context, op string, root *os.File, dir string, who forkbox.Owner) error {
	known, err := m.accounted(ctx, path.Base(dir))
	if err != nil {
		return forkbox.Wrap(op, err)
	}
	if known {
		return forkbox.Errorf(forkbox.Invalid, op, "it belongs to a receipt of this store").Hint("see: forkbox receipts")
	}
	found, err := land.LookStray(root, dir, who)
	if err != nil {
		return err
	}
	return storeOf(found)
}
