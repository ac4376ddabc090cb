package engine

import (
	"bufio"
	"context"
	"encoding/json"
	"iter"
	"os"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/review"
)

// What a box has landed it still has itself, so that it can land again when that
// is undone. A discard puts the box's later changes back to what reality has,
// and that is what landed: the box gets it as its own again. The receipt knows
// another file of the box, so the new one is noted beside the box's bases.

// ownCopy is a file of the box that is as it landed.
type ownCopy struct {
	Path    string           `json:"path"`
	Receipt string           `json:"receipt"`
	Box     forkbox.Identity `json:"box"`
}

func (e *Engine) ownCopiesFile(box string) string { return e.bases(box) + ".own" }

// keepLanded has a box keep what it landed where changes were discarded.
func (e *Engine) keepLanded(ctx context.Context, provider discarder, box forkbox.Box, changes []forkbox.Change) error {
	marks, _, err := e.marks(ctx, box)
	if err != nil || marks.Len() == 0 {
		return err
	}
	moves, err := e.landedMoves(ctx, box)
	if err != nil {
		return err
	}
	own, err := provider.KeepLanded(ctx, box, changes, landedAt(marks, moves))
	if err == nil && e.bases != nil {
		err = e.noteOwnCopies(box.ID, marks, own)
	}
	return err
}

// landedMoves are the directories that a box has moved in reality.
func (e *Engine) landedMoves(ctx context.Context, box forkbox.Box) (all []forkbox.Move, err error) {
	undone, err := e.undoneMoves(ctx, box)
	if err != nil {
		return nil, err
	}
	for _, id := range pathsWithout(box.Base.Moved, undone) {
		moves, err := e.moves(id)
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

// noteOwnCopies remembers what a box has as it landed.
func (e *Engine) noteOwnCopies(box string, marks *review.Marks, own map[string]forkbox.Identity) error {
	if len(own) == 0 {
		return nil
	}
	f, err := os.OpenFile(e.ownCopiesFile(box), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	out := bufio.NewWriter(f)
	lines := json.NewEncoder(out)
	for p, id := range own {
		m, _ := marks.Get(p)
		if err := lines.Encode(ownCopy{p, m.Receipt, id}); err != nil {
			return err
		}
	}
	return out.Flush()
}

// readOwnCopies adds that to the marks: the box has all of what landed there, also
// what was merged into it.
func (e *Engine) readOwnCopies(box string, marks *review.Marks, left *review.Inodes) {
	if e.bases == nil {
		return
	}
	f, err := os.Open(e.ownCopiesFile(box))
	if err != nil {
		return
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var o ownCopy
		if json.Unmarshal(lines.Bytes(), &o) != nil {
			continue
		}
		m, ok := marks.Get(o.Path)
		if !ok || m.Receipt != o.Receipt {
			continue // it has landed again
		}
		m.Box, m.Whole, m.Merged = o.Box, true, false
		left.Add(m.Reality)
		marks.Set(o.Path, m)
	}
}
