package land

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// loseStore removes everything that landings keep outside of the tree, and
// returns what is left of them in it.
func (w *world) loseStore() []string {
	w.Helper()
	wipe(w.store)
	w.must(os.Mkdir(w.store, 0o755))
	return FindStrays(w.file, "/")
}

var nobodyElse = forkbox.Owner{UID: os.Geteuid(), GID: os.Getegid()}

// TestPromise2StrayIsRestoredFromEveryStep crashes a landing at every step and
// loses its journal with the store. What is left in the tree is enough to take
// it back, also when that is itself interrupted, and to delete it.
func TestPromise2StrayIsRestoredFromEveryStep(t *testing.T) {
	dir := quickDir(t)
	touched, untouched := 0, 0
	for n := 1; ; n++ {
		w := fresh(t, dir, n)
		before := w.snap()
		if !crashAt(n, func() { w.must(w.tryLand(w.everything())) }) {
			break
		}
		what := fmt.Sprintf("crash at step %d", n)
		for _, stray := range w.loseStore() {
			s, err := LookStray(w.file, stray, nobodyElse)
			w.must(err)
			if s.Touched {
				touched++
				for again := n%7 + 1; crashAt(again, func() { w.restore(what, stray) }); again += 7 {
				}
				if after := w.restore(what, stray); after.Kept != 0 {
					t.Fatalf("%s: restored, and it keeps %v", what, after.Paths)
				}
			} else {
				untouched++
			}
			_, err = DeleteStray(w.file, stray, nobodyElse)
			w.must(err)
			w.same(what, before)
		}
	}
	if touched == 0 || untouched == 0 {
		t.Errorf("%d strays had begun to land, %d had not", touched, untouched)
	}
}

func (w *world) restore(what, stray string) Stray {
	w.Helper()
	after, left, err := RestoreStray(w.file, stray, nobodyElse)
	w.must(err)
	if len(left) > 0 {
		w.Fatalf("%s: not restored: %v", what, left)
	}
	return after
}

// TestStraySaysWhatItKeeps: how many paths, which, and whose landing it was.
func TestStraySaysWhatItKeeps(t *testing.T) {
	w := newWorld(t, quickDir(t))
	for _, p := range []string{"/f", "/gone/a", "/gone/b", "/m/x"} {
		w.write(p, "old "+p)
	}
	w.crashBeforeDone(func() {
		w.must(w.land(w.put("/f", "new"), w.remove("/gone"), w.put("/made", "new"), w.move("/m", "/to")))
	})
	landing := w.cfg().Dir
	strays := w.loseStore()
	if len(strays) != 1 {
		t.Fatal(strays)
	}
	s, err := LookStray(w.file, strays[0], nobodyElse)
	w.must(err)
	if s.Landing != landing || s.ID != "r1" || s.UID != os.Geteuid() || !s.Touched {
		t.Errorf("%+v", s)
	}
	// The directory, its two files, and the file.
	if s.Kept != 2 || s.Files != 4 || strings.Join(s.Paths, " ") != "/f /gone" {
		t.Errorf("%+v", s)
	}
}

// TestStrayNeverOverwrites: what is at a path by now, and is not what the
// landing put there, stays; what was there before is kept.
func TestStrayNeverOverwrites(t *testing.T) {
	for name, c := range map[string]struct {
		edit       func(w *world)
		path, kept string
	}{
		"edited":   {func(w *world) { w.write("/f", "later") }, "/f", "old f"},
		"replaced": {func(w *world) { w.write("/g", "later"); w.must(os.Rename(w.at("/g"), w.at("/f"))) }, "/f", "old f"},
		"made":     {func(w *world) { w.write("/rm", "later") }, "/rm", "old rm"},
		"inside":   {func(w *world) { w.write("/tree/b", "later") }, "/tree/b", "ours"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, quickDir(t))
			for _, p := range []string{"f", "rm", "other"} {
				w.write("/"+p, "old "+p)
			}
			w.crashBeforeDone(func() {
				w.must(w.land(w.put("/f", "ours"), w.put("/other", "ours"), w.remove("/rm"), w.putDir("/tree", 0o755), w.put("/tree/a", "ours")))
			})
			c.edit(w)
			stray := w.loseStore()[0]
			for range 2 {
				_, left, err := RestoreStray(w.file, stray, nobodyElse)
				w.must(err)
				if len(left) == 0 || left[0].Path != c.path {
					t.Fatalf("left: %v", left)
				}
				if w.read(c.path) != "later" || w.read("/other") != "old other" || !w.somewhere(c.kept) {
					t.Errorf("%q has %q, /other %q, and that %q is kept is %v", c.path, w.read(c.path), w.read("/other"), c.kept, w.somewhere(c.kept))
				}
			}
		})
	}
}

// TestStrayWithoutAJournal: of an older version's, and of one that was killed
// while it staged, nothing can be restored. Both can be deleted, and what only
// has such a name cannot.
func TestStrayWithoutAJournal(t *testing.T) {
	w := newWorld(t, quickDir(t))
	w.write("/f", "old")
	w.write("/.forkbox-abc/.gitignore", "*\n")
	w.write("/.forkbox-abc/1", "whose")
	w.write("/.forkbox-mine/notes", "not forkbox's")
	w.write("/.forkbox-My.Own/notes", "not forkbox's")
	l := w.begin()
	_, err := l.Stage(t.Context(), w.put("/f", "new"))
	w.must(err)
	l.site.close()
	if found := w.loseStore(); len(found) != 3 {
		t.Fatal(found)
	}
	before := w.snap()
	for _, c := range []struct {
		dir  string
		code forkbox.Code
	}{
		{"/.forkbox-abc", forkbox.Unsupported}, {"/.forkbox-r1", forkbox.Invalid}, {"/.forkbox-mine", forkbox.Invalid},
		{"/.forkbox-My.Own", forkbox.Invalid}, {"/f", forkbox.Invalid}, {"/.forkbox-none", forkbox.NotFound},
	} {
		_, _, err := RestoreStray(w.file, c.dir, nobodyElse)
		wantCode(t, err, c.code)
		w.same(c.dir, before)
	}
	for _, dir := range []string{"/.forkbox-mine", "/.forkbox-My.Own", "/f"} {
		_, err := DeleteStray(w.file, dir, nobodyElse)
		wantCode(t, err, forkbox.Invalid)
	}
	for _, dir := range []string{"/.forkbox-abc", "/.forkbox-r1"} {
		_, err := DeleteStray(w.file, dir, nobodyElse)
		w.must(err)
	}
	if found := FindStrays(w.file, "/"); len(found) != 1 || w.read("/f") != "old" {
		t.Error(found)
	}
}

// TestStrayIsOnlyItsOwners: another user is refused; root restores with the
// owner's rights, so that a journal that the owner forged does no more than the
// owner could.
func TestStrayIsOnlyItsOwners(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to be two users")
	}
	w := newWorld(t, quickDir(t))
	w.must(os.Chmod(filepath.Dir(w.root), 0o755))
	w.must(os.Chmod(w.root, 0o777))
	w.write("/rootonly/f", "root's")
	w.owner = &forkbox.Owner{UID: 12345, GID: 12345}
	w.write("/mine", "old")
	w.must(os.Chown(w.at("/mine"), 12345, 12345))
	w.crashBeforeDone(func() { w.must(w.land(w.put("/mine", "new"))) })
	stray := w.loseStore()[0]
	_, err := LookStray(w.file, stray, forkbox.Owner{UID: 54321, GID: 54321})
	if err == nil {
		t.Error("another user may look")
	}
	plan := w.at(stray) + "/" + planFile
	text, err := os.ReadFile(plan)
	w.must(err)
	forged := strings.ReplaceAll(string(text), `"/mine"`, `"/rootonly/f"`)
	w.must(os.Remove(plan))
	w.must(os.WriteFile(plan, []byte(forged), 0o600))
	RestoreStray(w.file, stray, forkbox.Owner{})
	if got := w.read("/rootonly/f"); got != "root's" {
		t.Errorf("a forged journal wrote %q to root's file", got)
	}
	w.must(os.WriteFile(plan, []byte(strings.ReplaceAll(string(text), `"place":0`, `"place":7`)), 0o600))
	_, _, err = RestoreStray(w.file, stray, forkbox.Owner{})
	wantCode(t, err, forkbox.Internal)
	w.must(os.WriteFile(plan, text, 0o600))
	_, left, err := RestoreStray(w.file, stray, forkbox.Owner{})
	w.must(err)
	if w.read("/mine") != "old" {
		t.Errorf("it has %q; left %v", w.read("/mine"), left)
	}
	_, err = DeleteStray(w.file, stray, *w.owner)
	w.must(err)
	if found := FindStrays(w.file, "/"); len(found) > 0 {
		t.Error(found)
	}
}
