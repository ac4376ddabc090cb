package engine

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/bases"
)

func TestApplyLandsAndUndoTakesBack(t *testing.T) {
	l := newLab(t)
	l.real("edited", "old\n")
	l.real("gone", "gone\n")
	l.real("dir/kept", "kept\n")
	was := tree(l.reality)
	l.box("one", "edited", "new\n", "gone", "-", "dir/added", "added\n", "fresh/deep/file", "deep\n")
	r := l.mustApply("one", forkbox.ApplySpec{Message: "why"})
	l.wantTree(map[string]string{
		"edited": "-rw-r--r-- new\n", "dir": "drwxr-xr-x ", "dir/kept": "-rw-r--r-- kept\n", "dir/added": "-rw-r--r-- added\n",
		"fresh": "drwxr-xr-x ", "fresh/deep": "drwxr-xr-x ", "fresh/deep/file": "-rw-r--r-- deep\n",
	})
	if r.State != forkbox.Applied || r.Paths != 6 || len(r.Entries) != 6 || r.Message != "why" || r.ID == "" {
		t.Errorf("%+v", r)
	}
	if again := l.mustApply("one", forkbox.ApplySpec{}); again.ID != "" || again.Paths != 0 {
		t.Errorf("what landed is no change: %+v", again)
	}
	r, err := l.Undo(context.Background(), me, l.latest(), UndoSpec{})
	check(t, err)
	l.wantTree(was)
	if r.State != forkbox.Undone || r.Undone.IsZero() {
		t.Errorf("%+v", r)
	}
	_, err = l.Undo(context.Background(), me, r.ID, UndoSpec{})
	wantCode(t, err, forkbox.Invalid)
	for _, ref := range []string{"", "latest"} { // only what is named is undone
		_, err = l.Undo(context.Background(), me, ref, UndoSpec{})
		wantCode(t, err, forkbox.NotFound)
	}
	if again := l.mustApply("one", forkbox.ApplySpec{}); again.Paths != 6 {
		t.Errorf("what was undone can land again: %+v", again)
	}
	l.wantNoLeak()
}

func TestUndoRefusesWhatChangedSince(t *testing.T) {
	l := newLab(t)
	l.real("f", "old\n")
	l.real("g", "old\n")
	l.box("one", "f", "new\n", "g", "new\n")
	r := l.mustApply("one", forkbox.ApplySpec{})
	l.real("f", "mine\n")
	now := tree(l.reality)
	_, err := l.Undo(context.Background(), me, r.ID, UndoSpec{})
	wantCode(t, err, forkbox.Conflict)
	l.wantTree(now)
	if r, err := l.Receipt(context.Background(), me, r.ID); err != nil || r.State != forkbox.Applied {
		t.Errorf("%+v, %v", r, err)
	}
	_, err = l.Undo(context.Background(), me, r.ID, UndoSpec{Force: []string{l.reality + "/g"}})
	wantCode(t, err, forkbox.Conflict)
	_, err = l.Undo(context.Background(), me, r.ID, UndoSpec{Force: []string{l.reality + "/f"}})
	check(t, err)
	l.wantTree(map[string]string{"f": "-rw-r--r-- old\n", "g": "-rw-r--r-- old\n"})
	l.wantNoLeak()
}

func TestADryRunChangesNothing(t *testing.T) {
	l := newLab(t)
	l.real("f", "old\n")
	l.box("one", "f", "new\n")
	was := tree(l.reality)
	r := l.mustApply("one", forkbox.ApplySpec{DryRun: true})
	if r.ID != "" || r.State != "" || r.Paths != 1 || r.Hash == "" {
		t.Errorf("%+v", r)
	}
	l.wantTree(was)
	if _, err := os.Stat(l.receipts); err == nil {
		t.Error("it wrote a receipt")
	}
}

// Promise 3: what was reviewed is what lands.
func TestPromise3AChangedBoxIsRefused(t *testing.T) {
	l := newLab(t)
	l.real("f", "old\n")
	b := l.box("one", "f", "new\n", "g", "new\n")
	review := func(sel forkbox.Selection) string {
		s, err := l.Diff(context.Background(), me, "one", forkbox.DiffSpec{Selection: sel, Hash: true}, func(forkbox.Change) error { return nil })
		check(t, err)
		return s.Hash
	}
	all, some := forkbox.Selection{}, forkbox.Selection{Paths: []string{l.reality + "/f"}}
	hash := review(all)
	_, err := l.apply("one", forkbox.ApplySpec{Selection: some, Reviewed: hash})
	wantCode(t, err, forkbox.Conflict)
	check(t, os.Chmod(l.uppers+"/"+b.ID+"/g", 0o755))
	_, err = l.apply("one", forkbox.ApplySpec{Reviewed: hash})
	wantCode(t, err, forkbox.Conflict)
	l.wantTree(map[string]string{"f": "-rw-r--r-- old\n"})
	l.wantNoLeak()
	l.real("f", "old\nreality\n") // is not what was reviewed: it has its own rules
	if review(some) == hash || review(all) == hash {
		t.Error("another selection, another box: the same hash")
	}
	hash = review(all)
	r := l.mustApply("one", forkbox.ApplySpec{Reviewed: hash, Conflict: forkbox.Theirs})
	if r.Hash != hash || r.Paths != 2 {
		t.Errorf("%+v", r)
	}
}

// Whatever is refused leaves no trace.
func TestRefusedApplies(t *testing.T) {
	for _, c := range []struct {
		name string
		spec func(l *lab) forkbox.ApplySpec
		code forkbox.Code
	}{
		{"drift", func(l *lab) forkbox.ApplySpec { l.real("f", "reality\n"); return forkbox.ApplySpec{} }, forkbox.Conflict},
		{"a path without changes", func(l *lab) forkbox.ApplySpec {
			return forkbox.ApplySpec{Selection: forkbox.Selection{Paths: []string{l.reality + "/f", l.reality + "/none"}}}
		}, forkbox.NotFound},
		{"not clean", func(l *lab) forkbox.ApplySpec {
			return forkbox.ApplySpec{Selection: forkbox.Selection{Paths: []string{l.reality + "/../f"}}}
		}, forkbox.Invalid},
		{"no such hunk", func(l *lab) forkbox.ApplySpec {
			return forkbox.ApplySpec{Hunks: []forkbox.HunkSelection{{Path: l.reality + "/f", Hunks: []int{9}}}}
		}, forkbox.Invalid},
		{"no hunk", func(l *lab) forkbox.ApplySpec {
			return forkbox.ApplySpec{Hunks: []forkbox.HunkSelection{{Path: l.reality + "/f"}}}
		}, forkbox.Invalid},
		{"hunks twice", func(l *lab) forkbox.ApplySpec {
			h := forkbox.HunkSelection{Path: l.reality + "/f", Hunks: []int{1}}
			return forkbox.ApplySpec{Hunks: []forkbox.HunkSelection{h, h}}
		}, forkbox.Invalid},
		{"no such choice", func(*lab) forkbox.ApplySpec { return forkbox.ApplySpec{Conflict: "mine"} }, forkbox.Invalid},
		{"not in git", func(*lab) forkbox.ApplySpec { return forkbox.ApplySpec{Commit: true} }, forkbox.Invalid},
		{"a second look", func(l *lab) forkbox.ApplySpec {
			check(l.t, os.Chmod(l.upperOf("one")+"/g", os.ModeSetuid|0o755))
			return forkbox.ApplySpec{}
		}, forkbox.Unconfirmed},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t)
			l.real("f", "old\n")
			l.box("one", "f", "new\n", "g", "new\n")
			spec := c.spec(l)
			was := tree(l.reality)
			_, err := l.apply("one", spec)
			wantCode(t, err, c.code)
			l.wantTree(was)
			l.wantNoLeak()
			if list, err := l.Receipts(context.Background(), me); len(list) > 0 || err != nil {
				t.Errorf("%+v, %v", list, err)
			}
			if entries, _ := os.ReadDir(l.receipts); len(entries) > 0 {
				t.Errorf("left %v", entries)
			}
		})
	}
}

func (l *lab) upperOf(name string) string {
	l.t.Helper()
	b, err := l.core.Resolve(context.Background(), me, name)
	check(l.t, err)
	return l.uppers + "/" + b.ID
}

// Some hunks land, the others stay in the box and can land later.
func TestHunksThatDidNotLandStay(t *testing.T) {
	l := newLab(t)
	middle := strings.Repeat("x\ny\nz\n", 10)
	l.real("f", "1\n"+middle+"2\n")
	l.box("one", "f", "one\n"+middle+"two\n")
	hunk := func(n int) forkbox.ApplySpec {
		return forkbox.ApplySpec{Hunks: []forkbox.HunkSelection{{Path: l.reality + "/f", Hunks: []int{n}}}}
	}
	r := l.mustApply("one", hunk(2))
	l.wantTree(map[string]string{"f": "-rw-r--r-- 1\n" + middle + "two\n"})
	if !r.Entries[0].Partial {
		t.Errorf("%+v", r)
	}
	l.mustApply("one", hunk(1))
	l.wantTree(map[string]string{"f": "-rw-r--r-- one\n" + middle + "two\n"})
	for range 2 {
		_, err := l.Undo(context.Background(), me, l.latest(), UndoSpec{})
		check(t, err)
	}
	l.wantTree(map[string]string{"f": "-rw-r--r-- 1\n" + middle + "2\n"})
	l.wantNoLeak()
}

// A file lands with the directories that the box made for it, and nothing else.
func TestAPathLandsWithItsDirectories(t *testing.T) {
	l := newLab(t)
	l.box("one", "a/b/c", "c\n", "a/other", "other\n", "a/b/d", "d\n")
	l.mustApply("one", forkbox.ApplySpec{Selection: forkbox.Selection{Paths: []string{l.reality + "/a/b/c"}}})
	l.wantTree(map[string]string{"a": "drwxr-xr-x ", "a/b": "drwxr-xr-x ", "a/b/c": "-rw-r--r-- c\n"})
	l.mustApply("one", forkbox.ApplySpec{})
	_, err := l.Undo(context.Background(), me, l.latest(), UndoSpec{})
	check(t, err)
	_, err = l.Undo(context.Background(), me, l.latest(), UndoSpec{})
	check(t, err)
	l.wantTree(map[string]string{})
}

// Only boxes that changed what landed are stale, and no more once it is undone.
func TestSiblingsThatTouchedWhatLandedAreStale(t *testing.T) {
	l := newLab(t)
	l.real("f", "old\n")
	l.real("g", "old\n")
	l.box("one", "f", "one\n")
	touched, other := l.box("two", "f", "two\n"), l.box("three", "g", "three\n")
	stale := func(b forkbox.Box) *forkbox.Staleness {
		now, err := l.ledger.Box(context.Background(), b.ID)
		check(t, err)
		return now.Stale
	}
	r := l.mustApply("one", forkbox.ApplySpec{})
	want := forkbox.Staleness{Receipt: r.ID, Box: "one", Path: l.reality + "/f"}
	if why := stale(touched); why == nil || *why != want || stale(other) != nil {
		t.Errorf("two: %+v, three: %+v", why, stale(other))
	}
	_, err := l.Undo(context.Background(), me, r.ID, UndoSpec{})
	check(t, err)
	if stale(touched) != nil {
		t.Error("nothing landed that it could be stale for")
	}
}

func TestDiscardPutsPathsBack(t *testing.T) {
	l := newLab(t)
	l.real("f", "old\n")
	b := l.box("one", "f", "new\n", "g", "new\n")
	b.Unresolved = []string{l.reality + "/f", l.reality + "/g"}
	check(t, l.ledger.UpdateBox(context.Background(), b))
	_, err := l.Discard(context.Background(), me, "one", forkbox.Selection{})
	wantCode(t, err, forkbox.Invalid)
	_, err = l.Discard(context.Background(), me, "one", forkbox.Selection{Paths: []string{l.reality + "/none"}})
	wantCode(t, err, forkbox.NotFound)
	paths, err := l.Discard(context.Background(), me, "one", forkbox.Selection{Paths: []string{l.reality + "/f"}})
	if err != nil || len(paths) != 1 || bases.Exists(l.upperOf("one")+"/f") || !bases.Exists(l.upperOf("one")+"/g") {
		t.Errorf("%v, %v", paths, err)
	}
	// What was discarded is decided.
	if b, err = l.ledger.Box(context.Background(), b.ID); err != nil || len(b.Unresolved) != 1 || b.Unresolved[0] != l.reality+"/g" {
		t.Errorf("%v, %v", b.Unresolved, err)
	}
}

func TestDiscardLeavesARunningBoxAlone(t *testing.T) {
	l := newLab(t)
	l.box("one", "f", "new\n")
	_, err := l.Exec(context.Background(), me, "one", command("sleep"), forkbox.Stdio{})
	check(t, err)
	_, err = l.Discard(context.Background(), me, "one", forkbox.Selection{All: true})
	wantCode(t, err, forkbox.Busy)
	if !bases.Exists(l.upperOf("one") + "/f") {
		t.Error("it was discarded")
	}
}
