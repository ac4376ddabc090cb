package land

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/storage/land/files"
)

// at has something done at the n-th moment of f: before a look at the tree, or
// before a change. It says whether it came to that.
func (e *editor) at(n int, do, f func()) bool {
	count := 0
	moment := func() {
		if count++; count == n {
			do()
		}
	}
	files.Step, files.Glance = func(string) error { moment(); return nil }, moment
	defer func() { files.Step, files.Glance = func(string) error { return nil }, func() {} }()
	f()
	return count >= n
}

// momentary are edits of a file, or beside it.
var momentary = map[string]func(e *editor, held *os.File, p string) error{
	"in place": func(e *editor, _ *os.File, p string) error { return e.appendTo(p, "edit 1") },
	"saved":    func(e *editor, _ *os.File, p string) error { return e.save(p, "edit 1") },
	"made":     func(e *editor, _ *os.File, p string) error { return e.write(p+".new", "edit 1") },
	"held": func(e *editor, held *os.File, _ string) error {
		e.late = []*os.File{held}
		if e.writeLate("edit 1") == "" {
			return os.ErrNotExist
		}
		return nil
	},
}

// appendTo writes to a file that is there.
func (e *editor) appendTo(p, line string) error {
	f, err := os.OpenFile(e.w.at(p), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return e.writeTo(f, line)
}

// TestPromise4EditAtEveryMomentOfALanding: of a file that it replaces, and
// deep in a directory that it removes, an edit wins or is named.
func TestPromise4EditAtEveryMomentOfALanding(t *testing.T) {
	for name, edit := range momentary {
		for _, p := range []string{"/plain", "/rm/sub/f"} {
			t.Run(strings.ReplaceAll(name+p, " ", "-"), func(t *testing.T) {
				everyMoment(t, p, edit, func(e *editor, items []Item) func() error {
					return func() error { return e.w.tryTelling(items, e) }
				})
			})
		}
	}
}

// TestPromise4EditAtEveryMomentOfAnUndo: the same for what an undo takes away.
func TestPromise4EditAtEveryMomentOfAnUndo(t *testing.T) {
	for name, edit := range momentary {
		for _, p := range []string{"/plain", "/new/sub/f"} {
			t.Run(strings.ReplaceAll(name+p, " ", "-"), func(t *testing.T) {
				everyMoment(t, p, edit, func(e *editor, items []Item) func() error {
					e.w.must(e.w.tryTelling(items, e))
					return e.w.undo
				})
			})
		}
	}
}

func everyMoment(t *testing.T, p string, edit func(*editor, *os.File, string) error, prepare func(*editor, []Item) func() error) {
	dir := quickDir(t)
	did, refused := 0, 0
	for n, reached := 1, true; reached; n++ {
		w := newWorld(t, fmt.Sprintf("%s/%d", dir, n))
		for i, p := range []string{"/rm/sub/f", "/plain"} {
			w.write(p, fmt.Sprint("old ", i))
		}
		c := &chaos{w: w}
		c.items = []Item{w.putDir("/new", 0o755), w.putDir("/new/sub", 0o755), w.put("/new/sub/f", "ours"), w.put("/plain", "ours"), w.remove("/rm")}
		c.weigh()
		e := newEditor(w, rand.New(rand.NewPCG(1, 1)))
		seen := e.inReality()
		do := prepare(e, c.items)
		held, err := os.OpenFile(w.at(p), os.O_WRONLY|os.O_APPEND, 0)
		w.must(err)
		reached = e.at(n, func() {
			if edit(e, held, p) == nil {
				did++
			}
		}, func() { err = do() })
		e.check(fmt.Sprintf("moment %d", n), seen, saying(err, nil))
		if err != nil {
			wantCode(t, err, forkbox.Conflict)
			refused++
		}
		held.Close()
		wipe(w.root)
		wipe(w.store)
	}
	// Beside a file that lands, something new is not in the landing's way.
	if did == 0 || refused == 0 && !strings.Contains(t.Name(), "made/plain") {
		t.Errorf("%d edits, of which %d were refused", did, refused)
	}
}

// TestRefusedLandingTellsOnlyWhatItPutBack: what a user edited, and what was
// never moved away, is none of its doing. The next landing would overwrite it.
func TestRefusedLandingTellsOnlyWhatItPutBack(t *testing.T) {
	w := newWorld(t, quickDir(t))
	for _, p := range []string{"/a", "/b", "/c", "/d"} {
		w.write(p, "old")
	}
	w.landings++
	cfg := w.cfg()
	var told []string
	cfg.PutBack = func(x Entry) { told = append(told, x.Path) }
	l, err := Begin(t.Context(), cfg)
	w.must(err)
	for _, p := range []string{"/a", "/b", "/c", "/d"} {
		_, err := l.Stage(t.Context(), w.put(p, "ours"))
		w.must(err)
	}
	w.write("/b", "edit")
	w.write("/c", "edit")
	wantCode(t, l.Commit(t.Context()), forkbox.Conflict)
	if len(told) != 1 || told[0] != "/a" {
		t.Errorf("it tells of %v as its own", told)
	}
}
