package land

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// TestUndoOfWhatWasOnlyRewritten: a tool wrote a file anew that says what landed.
// It goes back as if nothing had happened, whatever step a crash comes at; one
// that says something else is refused.
func TestUndoOfWhatWasOnlyRewritten(t *testing.T) {
	dir := quickDir(t)
	for n, reached := 1, true; reached; n++ {
		w := newWorld(t, fmt.Sprintf("%s/%d", dir, n))
		w.write("/f", "old")
		w.write("/g", "old")
		before := w.snap()
		w.must(w.land(w.put("/f", "ours"), w.put("/g", "ours"), w.put("/new", "ours")))
		for _, p := range []string{"/f", "/new"} {
			w.write(p+".lock", "ours, refreshed")
			w.must(os.Rename(w.at(p+".lock"), w.at(p)))
		}
		cfg := w.cfg()
		wantCode(t, Undo(t.Context(), cfg, nil), forkbox.Conflict)
		cfg.Rewritten = func(p string) func([]byte) bool {
			if p == "/g" {
				return nil
			}
			return func(now []byte) bool { return strings.HasPrefix(string(now), "ours") }
		}
		reached = crashAt(n, func() { w.must(Undo(t.Context(), cfg, nil)) })
		if o := w.recover(); o.State == After {
			if w.read("/f") != "ours, refreshed" || w.read("/g") != "ours" || w.read("/new") != "ours, refreshed" {
				t.Fatalf("crash at step %d: %q %q %q", n, w.read("/f"), w.read("/g"), w.read("/new"))
			}
			w.must(Undo(t.Context(), cfg, nil))
		} else if o.State != Undone {
			t.Fatalf("crash at step %d: %v", n, o)
		}
		w.same(fmt.Sprint("crash at step ", n), before)
	}
	w := newWorld(t, dir+"/other")
	w.write("/f", "old")
	w.must(w.land(w.put("/f", "ours")))
	w.write("/f", "theirs")
	cfg := w.cfg()
	cfg.Rewritten = func(string) func([]byte) bool {
		return func(now []byte) bool { return strings.HasPrefix(string(now), "ours") }
	}
	wantCode(t, Undo(t.Context(), cfg, nil), forkbox.Conflict)
}
