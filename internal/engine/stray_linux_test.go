package engine

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/bases"
)

// unstow puts what a receipt keeps back to where the landing worked, as it is
// when the landing is killed, or the store is on another filesystem.
func (l *lab) unstow(receipt string) string {
	l.t.Helper()
	kept := filepath.Join(l.receipts, receipt, "kept-0")
	text, err := os.ReadFile(kept + "/places")
	check(l.t, err)
	var place struct{ In string }
	line, _, _ := strings.Cut(string(text), "\n")
	check(l.t, json.Unmarshal([]byte(line), &place))
	stray := filepath.Join(place.In, ".forkbox-"+receipt)
	check(l.t, os.Rename(kept, stray))
	l.t.Cleanup(func() { os.RemoveAll(stray) })
	return stray
}

// strayAt is what is known of a stray, if it is one.
func (l *lab) strayAt(dir, from string) (found forkbox.Stray) {
	l.t.Helper()
	list, err := l.Strays(l.t.Context(), me, from)
	check(l.t, err)
	for _, s := range list {
		if s.Dir == dir {
			return s
		}
	}
	return found
}

// TestStrayIsWhatNoStoreHasTheReceiptOf: while a receipt accounts for it, here
// or in another store, it is left alone. When the store is gone it is found,
// restored, and deleted when that is asked for.
func TestStrayIsWhatNoStoreHasTheReceiptOf(t *testing.T) {
	l, other := newLab(t), newLab(t)
	l.real("f", "old\n")
	l.box("b", "f", "new\n")
	receipt := l.mustApply("b", forkbox.ApplySpec{}).ID
	stray := l.unstow(receipt)
	mend := func(l *lab, fate forkbox.StrayFate) (forkbox.StrayMended, error) {
		return l.MendStray(t.Context(), me, stray, fate)
	}
	for name, l2 := range map[string]*lab{"its own store": l, "another store": other} {
		if s := l2.strayAt(stray, l.reality); s.Dir != "" {
			t.Errorf("%s calls it a stray: %+v", name, s)
		}
		for _, fate := range []forkbox.StrayFate{forkbox.RestoreStray, forkbox.DeleteStray} {
			if _, err := mend(l2, fate); err == nil {
				t.Fatalf("%s: %s was done", name, fate)
			}
		}
	}
	check(t, os.Rename(l.receipts, l.receipts+".gone"))
	s := other.strayAt(stray, l.reality)
	if s.Kept != 1 || s.Files != 1 || !s.Restorable || s.Owner != me.UID || s.ID != receipt || len(s.Paths) != 1 || s.Paths[0] != l.reality+"/f" ||
		s.Store != filepath.Dir(l.receipts) {
		t.Fatalf("it is said to be %+v", s)
	}
	if _, err := mend(other, "both"); forkbox.CodeOf(err) != forkbox.Invalid {
		t.Errorf("to do both: %v", err)
	}
	done, err := mend(other, forkbox.RestoreStray)
	check(t, err)
	if text, _ := os.ReadFile(l.reality + "/f"); string(text) != "old\n" || len(done.Left) > 0 || done.Stray.Kept != 0 || done.Stray.Files != 1 {
		t.Errorf("reality has %q, and it is %+v", text, done)
	}
	_, err = mend(other, forkbox.DeleteStray)
	check(t, err)
	if bases.Exists(stray) || other.strayAt(stray, l.reality).Dir != "" {
		t.Error("it is still there")
	}
}
