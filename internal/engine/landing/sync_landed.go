package landing

import (
	"context"
	"encoding/json"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/review"
	"github.com/forkbox/forkbox/internal/storage/land"
)

// A file of a box that is as it landed is told by its inode and the time of that.
// A sync that is taken back has moved it to and fro, which sets the time: the box
// would seem to have changed it, and reality's next edit to be in conflict with that.

// asItLanded is the tag of a sync's step that replaces such a file.
var asItLanded = json.RawMessage(`"landed"`)

// isAsItLanded says whether a change is one that landed and that the box did not go on with.
func isAsItLanded(view *review.View, x *review.Entry) bool {
	m, ok := view.Marks.Get(x.Path)
	return ok && m.Whole && !m.Merged && view.Landed(x)
}

// replacedAsLanded are the paths at which an interrupted sync replaced such files.
func replacedAsLanded(dir string) map[string]bool {
	paths := map[string]bool{}
	_ = land.Entries(dir, func(e land.Entry) error { // what cannot be read only makes a conflict
		if string(e.Tag) == string(asItLanded) {
			paths[e.Path] = true
		}
		return nil
	})
	return paths
}

// keepAsLanded notes what the box has there now that the sync is taken back.
func (m *Manager) keepAsLanded(ctx context.Context, box forkbox.Box, paths map[string]bool) error {
	if len(paths) == 0 {
		return nil
	}
	view, err := m.changes.View(ctx, box)
	if err != nil {
		return err
	}
	own := map[string]forkbox.Identity{}
	err = view.Changes(ctx, func(c forkbox.Change, sides forkbox.Sides) error {
		seen, ok := view.Marks.Get(c.Path)
		if !ok || !paths[c.Path] {
			return nil
		}
		n, err := sides.New()
		if err == nil && n.Ino == seen.Box.Ino && n.Ctime != seen.Box.Ctime {
			own[c.Path] = n.Identity
		}
		return nil
	})
	if err != nil {
		return err
	}
	return m.changes.NoteOwnCopies(box.ID, view.Marks, own)
}
