package engine

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/bases"
)

// What a sync left undecided is so again when the apply that decided it is
// undone, and only then.
func TestUndoLeavesUndecidedWhatWasSo(t *testing.T) {
	ctx := context.Background()
	l := newLab(t)
	l.real("f", "reality\n")
	l.real("g", "reality\n")
	b := l.box("one", "f", "-", "g", "-", "h", "new\n")
	b.Unresolved = []string{l.reality + "/f", l.reality + "/g"}
	check(t, l.ledger.UpdateBox(ctx, b))
	undecided := func(want ...string) {
		t.Helper()
		got, err := l.ledger.Box(ctx, b.ID)
		check(t, err)
		names := slices.Sorted(slices.Values(got.Unresolved))
		for i := range want {
			want[i] = l.reality + "/" + want[i]
		}
		if !slices.Equal(names, want) {
			t.Errorf("undecided are %q, want %q", names, want)
		}
	}
	theirs := forkbox.ApplySpec{Conflict: forkbox.Theirs, Selection: forkbox.Selection{Paths: []string{l.reality + "/f", l.reality + "/h"}}}
	r, err := l.Apply(ctx, me, "one", theirs)
	check(t, err)
	undecided("g")

	// An undo that does not happen changes nothing.
	l.real("f", "somebody's\n")
	_, err = l.Undo(ctx, me, r.ID, UndoSpec{})
	wantCode(t, err, forkbox.Conflict)
	undecided("g")

	check(t, os.Remove(l.reality+"/f"))
	_, err = l.Undo(ctx, me, r.ID, UndoSpec{})
	check(t, err)
	undecided("f", "g")
	_, err = l.Apply(ctx, me, "one", forkbox.ApplySpec{})
	wantCode(t, err, forkbox.Conflict)
	if !bases.Exists(l.reality+"/f") || !bases.Exists(l.reality+"/g") {
		t.Error("what was undecided was deleted")
	}
}

// A crash in an undo does not forget it either.
func TestUndecidedIsRecordedBeforeAnUndo(t *testing.T) {
	ctx := context.Background()
	l := newLab(t)
	l.real("f", "reality\n")
	b := l.box("one", "f", "-")
	b.Unresolved = []string{l.reality + "/f"}
	check(t, l.ledger.UpdateBox(ctx, b))
	r, err := l.Apply(ctx, me, "one", forkbox.ApplySpec{Conflict: forkbox.Theirs})
	check(t, err)
	open, err := l.Unsettle(ctx, r)
	if err != nil || !slices.Equal(open, []string{l.reality + "/f"}) {
		t.Fatalf("%q, %v", open, err)
	}
	again, err := l.Unsettle(ctx, r) // after the crash: it is there already
	if err != nil || len(again) != 0 {
		t.Errorf("%q, %v", again, err)
	}
	if got, err := l.ledger.Box(ctx, b.ID); err != nil || len(got.Unresolved) != 1 {
		t.Errorf("%q, %v", got.Unresolved, err)
	}
}

// Each kind of conflict gets the advice that settles it, and none that leads
// back to where one is.
func TestConflictsAreToldWhatSettlesThem(t *testing.T) {
	ctx := context.Background()
	const marked = "<<<<<<< box\nbox\n=======\nreality\n>>>>>>> reality\n"
	for _, c := range []struct {
		name, inBox, later string
		open               bool
		spec               forkbox.ApplySpec
		has, hasNot        []string
	}{
		{"the same lines", "box\n", "reality\n", false, forkbox.ApplySpec{}, []string{"forkbox sync one", "theirs", "markers"}, []string{"shell"}},
		{"deleted, before a sync", "-", "reality\n", false, forkbox.ApplySpec{}, []string{"theirs", "ours", "discard one"}, []string{"sync", "markers"}},
		{"deleted, after a sync", "-", "", true, forkbox.ApplySpec{}, []string{"theirs", "ours", "discard one"}, []string{"sync", "markers"}},
		{"markers", marked, "", true, forkbox.ApplySpec{}, []string{"forkbox shell one", "ours", "discard one"}, []string{"forkbox sync", "theirs"}},
		{"markers, theirs", marked, "", true, forkbox.ApplySpec{Conflict: forkbox.Theirs}, []string{"forkbox shell one", "ours"}, []string{"forkbox sync", "theirs"}},
		{"markers, and reality went on", marked, "reality\n", true, forkbox.ApplySpec{}, []string{"forkbox sync one"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t)
			l.real("f", "before\n")
			b := l.box("one", "f", c.inBox)
			if c.open {
				b.Unresolved = []string{l.reality + "/f"}
				check(t, l.ledger.UpdateBox(ctx, b))
			}
			if c.later != "" {
				l.real("f", c.later)
			}
			_, err := l.Apply(ctx, me, "one", c.spec)
			wantCode(t, err, forkbox.Conflict)
			var e *forkbox.Error
			if !errors.As(err, &e) {
				t.Fatal(err)
			}
			hints := strings.Join(e.Hints, "\n")
			for _, word := range c.has {
				if !strings.Contains(hints, word) {
					t.Errorf("no word of %q:\n%s", word, hints)
				}
			}
			for _, word := range c.hasNot {
				if strings.Contains(hints, word) {
					t.Errorf("%q does not help:\n%s", word, hints)
				}
			}
		})
	}
}
