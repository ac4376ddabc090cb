package engine

import (
	"errors"
	"testing"

	"github.com/forkbox/forkbox"
)

// TestSweepSparesWhatIsForkedMeanwhile: between two looks into the ledger the
// sweep must not lose sight of a layer whose owner changes: what it was of goes
// and what is made of it stays.
func TestSweepSparesWhatIsForkedMeanwhile(t *testing.T) {
	for name, meanwhile := range map[string]func(w *layeredWorld) error{
		"fork, rm of the parent": func(w *layeredWorld) error {
			_, err := w.Fork(t.Context(), ada, "one@s0", forkbox.ForkSpec{Name: "kid"})
			return errors.Join(err, w.Remove(t.Context(), ada, "one", true))
		},
		"rollback, rm of the snapshot": func(w *layeredWorld) error {
			_, err := w.Rollback(t.Context(), ada, "one", forkbox.RollbackSpec{To: "s0"})
			return errors.Join(err, w.RemoveSnapshot(t.Context(), ada, "one@s0", false))
		},
		"box of a template, rm of the template": func(w *layeredWorld) error {
			_, err := w.Create(t.Context(), ada, CreateSpec{Name: "kid", Template: "t"})
			return errors.Join(err, w.RemoveTemplate(t.Context(), ada, "t"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newLayeredWorld(t, true)
			w.create("zero")
			w.write("zero", "z")
			_, err := w.CreateTemplate(t.Context(), ada, forkbox.TemplateSpec{Name: "t", From: "zero"})
			check(t, err)
			check(t, w.Remove(t.Context(), ada, "zero", true))
			w.create("one")
			w.save("one", "blank")
			w.write("one", "a")
			w.save("one", "s0")
			_, err = w.Rollback(t.Context(), ada, "one", forkbox.RollbackSpec{To: "blank"})
			check(t, err)
			check(t, w.RemoveSnapshot(t.Context(), ada, "one@auto-1", false))
			w.write("one", "b")
			w.save("one", "s1")
			w.settle()
			failed := errors.New("the sweep read nothing")
			w.meanwhile = func() { failed = meanwhile(w) }
			w.shelfManager.SweepSoon()
			w.settle()
			check(t, failed)
			if _, err := w.shown(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestRefusedSnapshotLeavesNoLayer: the name of a snapshot is taken, and what
// was copied for it goes.
func TestRefusedSnapshotLeavesNoLayer(t *testing.T) {
	for _, stacks := range []bool{true, false} {
		w := newLayeredWorld(t, stacks)
		lived(w)
		w.exec("one")
		_, err := w.Snapshot(t.Context(), ada, "one", forkbox.SnapshotSpec{Name: "s1"})
		wantCode(t, err, forkbox.Exists)
		w.settle()
		if extra := w.extra(); len(extra) > 0 {
			t.Errorf("stacks=%v: nothing needs %q, and they stay", stacks, extra)
		}
	}
}
