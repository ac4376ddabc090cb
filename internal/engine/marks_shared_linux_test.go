package engine

import (
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/changes"
	"github.com/forkbox/forkbox/internal/review"
)

// TestMarksOfManyPathsAreShared: two who look at a box at the same time do not
// have what landed of it twice, unless something was done since.
func TestMarksOfManyPathsAreShared(t *testing.T) {
	l := newLab(t)
	box := l.box("one", "f", "new\n")
	r := l.mustApply("one", forkbox.ApplySpec{})
	read := func() (*review.Marks, *review.Inodes) {
		t.Helper()
		marks, left, err := l.Marks(t.Context(), box)
		check(t, err)
		return marks, left
	}
	few, _ := read()
	if again, _ := read(); few == again {
		t.Error("a few are read for each")
	}
	r.Paths = changes.ManyMarks
	check(t, l.ledger.UpdateReceipt(t.Context(), r))
	first, left := read()
	if marks, inodes := read(); marks != first || inodes != left || marks.Len() != 1 {
		t.Errorf("many are read again: %p and %p, not %p and %p", marks, inodes, first, left)
	}
	_, err := l.Undo(t.Context(), me, r.ID, UndoSpec{})
	check(t, err)
	marks, inodes := read()
	if marks == first || inodes == left {
		t.Error("they are those from before an undo")
	}
	if m, _ := marks.Get(l.reality + "/f"); !m.Nothing {
		t.Errorf("%+v", m)
	}
	if m, _ := first.Get(l.reality + "/f"); m.Nothing { // a holder goes on with them
		t.Errorf("%+v", m)
	}
}
