package landing

import (
	"context"
	"iter"
	"os"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/review"
)

// keepLanded has a box keep what it landed where changes were discarded.
func (m *Manager) keepLanded(ctx context.Context, provider discarder, box forkbox.Box, changes []forkbox.Change) error {
	marks, _, err := m.changes.Marks(ctx, box)
	if err != nil || marks.Len() == 0 {
		return err
	}
	moves, err := m.landedMoves(ctx, box)
	if err != nil {
		return err
	}
	own, err := provider.KeepLanded(ctx, box, changes, landedAt(marks, moves))
	if err != nil {
		return err
	}
	return m.changes.NoteOwnCopies(box.ID, marks, own)
}

// landedMoves are the directories that a box has moved in reality.
func (m *Manager) landedMoves(ctx context.Context, box forkbox.Box) (all []forkbox.Move, err error) {
	undone, err := m.shelf.UndoneMoves(ctx, box)
	if err != nil {
		return nil, err
	}
	for _, id := range pathsWithout(box.Base.Moved, undone) {
		moves, err := m.shelf.Moves(id)
		if err != nil && !os.IsNotExist(err) {
			return nil, err
		}
		all = append(all, moves...)
	}
	return all, nil
}

// landedAt is what a box has landed, by path, with nothing where it deleted
// something or moved it away.
func landedAt(marks *review.Marks, moves []forkbox.Move) iter.Seq2[string, forkbox.Identity] {
	return func(yield func(string, forkbox.Identity) bool) {
		for p, m := range marks.All() {
			landed := m.Receipt != "" && m.Deleted == (m.Reality.Ino == 0)
			if landed && !yield(p, m.Reality) {
				return
			}
		}
		for _, m := range moves {
			if !yield(m.From, forkbox.Identity{}) {
				return
			}
		}
	}
}
