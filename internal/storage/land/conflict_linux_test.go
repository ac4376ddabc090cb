package land

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/storage/land/files"
)

// edits are what a user may do to a tree while a landing goes on.
var edits = map[string]func(w *world){
	"file edited":             func(w *world) { w.write("/f", "theirs") },
	"same size edited":        func(w *world) { w.write("/f", "OLD") },
	"file replaced":           func(w *world) { w.write("/g", "theirs"); w.must(os.Rename(w.at("/g"), w.at("/f"))) },
	"file deleted":            func(w *world) { w.must(os.Remove(w.at("/f"))) },
	"mode changed":            func(w *world) { w.must(os.Chmod(w.at("/f"), 0o600)) },
	"file appeared":           func(w *world) { w.write("/new", "theirs") },
	"file made in removed":    func(w *world) { w.write("/rm/new", "theirs") },
	"directory mode changed":  func(w *world) { w.must(os.Chmod(w.at("/d"), 0o711)) },
	"directory xattr changed": func(w *world) { w.must(unix.Setxattr(w.at("/d"), "user.x", []byte("1"), 0)) },
	"parent became a symlink": func(w *world) {
		w.must(os.Rename(w.at("/p"), w.at("/q")))
		w.must(os.Symlink("q", w.at("/p")))
	},
	"parent vanished":     func(w *world) { w.must(os.RemoveAll(w.at("/p"))) },
	"moved one vanished":  func(w *world) { w.must(os.RemoveAll(w.at("/m"))) },
	"move's place taken":  func(w *world) { w.write("/to/x", "theirs") },
	"moved one replaced":  func(w *world) { w.must(os.RemoveAll(w.at("/m"))); w.write("/m/x", "theirs") },
	"file became symlink": func(w *world) { w.must(os.Remove(w.at("/f"))); w.must(os.Symlink("p/in", w.at("/f"))) },
}

func conflictItems(w *world) []Item {
	for _, p := range []string{"/f", "/rm/a", "/d/x", "/p/in", "/m/x", "/first"} {
		w.write(p, "old")
	}
	return []Item{
		{Path: "/d", Op: Attr, Node: w.node(os.ModeDir | 0o700), Expect: w.seen("/d")},
		w.put("/f", "ours"), w.put("/first", "ours"), w.put("/new", "ours"), w.put("/p/in", "ours"), w.remove("/rm"), w.move("/m", "/to"),
	}
}

// TestPromise4EditBetweenStageAndCommit: an edit that comes in between wins,
// and nothing lands.
func TestPromise4EditBetweenStageAndCommit(t *testing.T) {
	for name, edit := range edits {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			w := newWorld(t, quickDir(t))
			l := stageAll(w, conflictItems(w))
			edit(w)
			edited := w.snapWithoutStaging()
			wantCode(t, l.Commit(t.Context()), forkbox.Conflict)
			w.same(name, edited)
			w.noTrace(name)
		})
	}
}

// TestPromise4EditBeforeStage: one that comes before is seen at once.
func TestPromise4EditBeforeStage(t *testing.T) {
	for name, edit := range edits {
		if name == "move's place taken" || strings.HasPrefix(name, "directory ") {
			continue // seen at Commit; or not what Expect can tell
		}
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			w := newWorld(t, quickDir(t))
			items := conflictItems(w)
			edit(w)
			edited := w.snap()
			wantCode(t, w.land(items...), forkbox.Conflict)
			w.same(name, edited)
			w.noTrace(name)
		})
	}
}

// TestPromise4EditAtTheVeryMoment: even right before the rename, after the
// last look.
func TestPromise4EditAtTheVeryMoment(t *testing.T) {
	for _, name := range []string{"file edited", "file replaced", "file appeared", "parent became a symlink"} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			for n := 1; ; n++ {
				w := newWorld(t, quickDir(t))
				l := stageAll(w, conflictItems(w))
				renames := 0
				files.Step = func(call string) error {
					if call == "rename" {
						if renames++; renames == n+1 { // the first is the marker's
							edits[name](w)
						}
					}
					return nil
				}
				err := l.Commit(t.Context())
				files.Step = func(string) error { return nil }
				if renames <= n {
					return
				}
				w.nothingLost(name, err)
			}
		})
	}
}

// nothingLost: their edit is what is there, whether it came before the flip,
// which then was taken back, or after it.
func (w *world) nothingLost(name string, err error) {
	w.Helper()
	p := map[string]string{"file edited": "/f", "file replaced": "/f", "file appeared": "/new"}[name]
	if p == "" { // the parent: what was in it moved on with it, old or landed whole
		want := "old"
		if err == nil {
			want = "ours"
		}
		if got := w.read("/q/in"); got != want || w.read("/first") != want {
			w.Fatalf("%s: %q and %q after %v", name, got, w.read("/first"), err)
		}
		return
	}
	if text, _ := os.ReadFile(w.at(p)); string(text) != "theirs" {
		w.Fatalf("%s: %q has %q after %v", name, p, text, err)
	}
}

func stageAll(w *world, items []Item) *Landing {
	w.Helper()
	l := w.begin()
	for _, it := range items {
		_, err := l.Stage(w.Context(), it)
		w.must(err)
	}
	return l
}

func (w *world) snapWithoutStaging() map[string]string {
	all := w.snap()
	for p := range all {
		if strings.HasPrefix(p, "/.forkbox-") {
			delete(all, p)
		}
	}
	return all
}

// TestPromise4UndoRefusesWhatChanged: undo names what changed since, and does
// nothing; forced, it keeps what is there.
func TestPromise4UndoRefusesWhatChanged(t *testing.T) {
	for name, c := range map[string]struct {
		edit  func(w *world)
		path  string
		force bool // whether force helps
	}{
		"edited":         {func(w *world) { w.write("/f", "later") }, "/f", true},
		"deleted":        {func(w *world) { w.must(os.Remove(w.at("/f"))) }, "/f", true},
		"mode":           {func(w *world) { w.must(os.Chmod(w.at("/f"), 0o600)) }, "/f", true},
		"xattr":          {func(w *world) { w.must(unix.Setxattr(w.at("/f"), "user.x", nil, 0)) }, "/f", true},
		"added edited":   {func(w *world) { w.write("/new", "later") }, "/new", true},
		"inside edited":  {func(w *world) { w.write("/tree/a", "later") }, "/tree/a", true},
		"inside made":    {func(w *world) { w.write("/tree/b", "later") }, "/tree/b", true},
		"inside deleted": {func(w *world) { w.must(os.Remove(w.at("/tree/a"))) }, "/tree/a", true},
		"removed made":   {func(w *world) { w.write("/rm", "later") }, "/rm", true},
		"from made":      {func(w *world) { w.write("/m", "later") }, "/to", false},
		"moved gone":     {func(w *world) { w.must(os.RemoveAll(w.at("/to"))) }, "/to", false},
		"attr again":     {func(w *world) { w.must(os.Chmod(w.at("/d"), 0o711)) }, "/d", true},
		"parent gone":    {func(w *world) { w.must(os.RemoveAll(w.at("/p"))) }, "/p/in", false},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			w := newWorld(t, quickDir(t))
			items := conflictItems(w)
			before := w.snap()
			w.must(w.land(append(items, w.putDir("/tree", 0o755), w.put("/tree/a", "ours"))...))
			c.edit(w)
			edited := w.snap()
			err := w.undo()
			wantCode(t, err, forkbox.Conflict)
			if items := err.(*forkbox.Error).Items; len(items) != 1 || items[0].Path != c.path {
				t.Errorf("it names %v, not %q", items, c.path)
			}
			w.same(name, edited)
			forced := Undo(t.Context(), w.cfg(), func(p string) bool { return p == c.path })
			if !c.force {
				wantCode(t, forced, forkbox.Conflict)
				w.same(name, edited)
				return
			}
			w.must(forced)
			w.same(name+", forced", before)
		})
	}
}

// TestForcedUndoKeepsWhatWasThere: until the receipt expires.
func TestForcedUndoKeepsWhatWasThere(t *testing.T) {
	w := newWorld(t, quickDir(t))
	w.write("/f", "old")
	w.must(w.land(w.put("/f", "landed")))
	w.write("/f", "later")
	w.must(Undo(t.Context(), w.cfg(), func(string) bool { return true }))
	text, err := os.ReadFile(w.cfg().Dir + "/kept-0/1")
	if err != nil || string(text) != "later" || w.read("/f") != "old" {
		t.Fatalf("%q %v", text, err)
	}
}

// TestTouchedButNotChanged: only a real difference is in the way of undo.
func TestTouchedButNotChanged(t *testing.T) {
	w := newWorld(t, quickDir(t))
	w.write("/f", "old")
	before := w.snap()
	w.must(w.land(w.put("/f", "landed"), w.putDir("/t", 0o755), w.put("/t/x", "landed")))
	for _, p := range []string{"/f", "/t/x", "/t"} {
		mode := os.FileMode(0o644)
		if p == "/t" {
			mode = 0o755
		}
		w.must(os.Chmod(w.at(p), 0o700))
		w.must(os.Chmod(w.at(p), mode))
	}
	w.write("/f", "landed") // the same again
	w.must(w.undo())
	w.same("undone", before)
}
