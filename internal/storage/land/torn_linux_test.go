package land

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forkbox/forkbox/internal/storage/land/files"
)

// crashBeforeDone lands and crashes when everything is flipped and the marker
// is not yet written.
func (w *world) crashBeforeDone(run func()) {
	w.Helper()
	markers := 0
	files.Step = func(name string) error {
		if name == "write marker" {
			if markers++; markers == 2 {
				panic(crash{})
			}
		}
		return nil
	}
	if !crashes(run) {
		w.Fatal("it did not come to the crash")
	}
}

// TestTornLeavesEditsAlone: what a user did between the crash and the
// recovery stays, the rest goes back, and nothing is lost.
func TestTornLeavesEditsAlone(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(w *world)
		path string // of the edit, which has "later"
		kept string // the old content that has to be somewhere
	}{
		"edited in place": {func(w *world) { w.write("/f", "later") }, "/f", "old f"},
		"replaced": {func(w *world) {
			w.write("/g", "later")
			w.must(os.Rename(w.at("/g"), w.at("/f")))
		}, "/f", "old f"},
		"added edited":  {func(w *world) { w.write("/new", "later") }, "/new", ""},
		"removed made":  {func(w *world) { w.write("/rm", "later") }, "/rm", "old rm"},
		"inside made":   {func(w *world) { w.write("/tree/b", "later") }, "/tree/b", ""},
		"inside edited": {func(w *world) { w.write("/tree/a", "later") }, "/tree/a", ""},
		"inside deeper": {func(w *world) { w.write("/tree/sub/deep/b", "later") }, "/tree/sub/deep", ""},
		"inside replaced": {func(w *world) {
			w.write("/tree/later", "later")
			w.must(os.Rename(w.at("/tree/later"), w.at("/tree/a")))
		}, "/tree/a", ""},
		"deeper replaced": {func(w *world) {
			w.write("/later", "later")
			w.must(os.Rename(w.at("/later"), w.at("/tree/sub/in")))
		}, "/tree/sub/in", ""},
		"place of a mvd": {func(w *world) { w.write("/m", "later") }, "/m", "old m/x"},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			w := newWorld(t, quickDir(t))
			for _, p := range []string{"f", "rm", "other", "m/x"} {
				w.write("/"+p, "old "+p)
			}
			items := []Item{w.put("/f", "ours"), w.put("/new", "ours"), w.put("/other", "ours"), w.remove("/rm"), w.move("/m", "/to"), w.putDir("/tree", 0o755), w.put("/tree/a", "ours"), w.putDir("/tree/sub", 0o755), w.put("/tree/sub/in", "ours")}
			w.crashBeforeDone(func() { w.must(w.land(items...)) })
			c.edit(w)
			for range 2 {
				o := w.recover()
				if o.State != Torn || len(o.Torn) == 0 || o.Torn[0].Path != c.path {
					t.Fatal(o)
				}
				if w.read("/other") != "old other" {
					t.Error("the rest did not go back")
				}
				w.stillThere(c.path, "later")
				if c.kept != "" && !w.somewhere(c.kept) {
					t.Errorf("%q is lost", c.kept)
				}
			}
			w.must(Expire(t.Context(), w.cfg()))
			w.stillThere(c.path, "later")
			if left, _ := filepath.Glob(w.root + "/.forkbox*"); left != nil {
				t.Error(left)
			}
		})
	}
}

func (w *world) stillThere(p, content string) {
	w.Helper()
	if info, err := os.Stat(w.at(p)); err == nil && info.IsDir() {
		p += "/b" // the directory was made for it
	}
	if got := w.read(p); got != content {
		w.Errorf("%q has %q", p, got)
	}
}

// somewhere says whether a file with this content is in the tree or the store.
func (w *world) somewhere(content string) bool {
	found := false
	for _, dir := range []string{w.root, w.store} {
		filepath.Walk(dir, func(p string, info os.FileInfo, err error) error {
			if err == nil && info.Mode().IsRegular() {
				text, _ := os.ReadFile(p)
				found = found || string(text) == content
			}
			return nil
		})
	}
	return found
}

// TestTornUndo: the same for an undo, which goes back to what had landed.
func TestTornUndo(t *testing.T) {
	w := newWorld(t, quickDir(t))
	w.write("/f", "old")
	w.write("/g", "old")
	w.must(w.land(w.put("/f", "ours"), w.put("/g", "ours")))
	w.crashBeforeDone(func() { w.must(w.undo()) })
	w.write("/f", "later")
	o := w.recover()
	if o.State != Torn || len(o.Torn) != 1 || o.Torn[0].Path != "/f" {
		t.Fatal(o)
	}
	if w.read("/f") != "later" || w.read("/g") != "ours" || !w.somewhere("ours") {
		t.Error(w.read("/f"), w.read("/g"))
	}
}
