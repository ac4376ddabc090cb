package toolhosts

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forkbox/forkbox/internal/network/rules"
)

// world is a made machine with a user and a project.
type world struct {
	t    testing.TB
	root string
	opts Options
}

func newWorld(t testing.TB) *world {
	root := t.TempDir()
	w := &world{t, root, Options{Home: root + "/home/ann", Dir: root + "/home/ann/src/app/src", Root: root}}
	w.mkdir("home/ann/src/app/src")
	return w
}

func (w *world) mkdir(dir string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Join(w.root, dir), 0o755); err != nil {
		w.t.Fatal(err)
	}
}

// file writes a file; MACHINE in it is where the machine is.
func (w *world) file(name, text string) {
	w.t.Helper()
	w.mkdir(filepath.Dir(name))
	text = strings.ReplaceAll(text, "MACHINE", w.root)
	if err := os.WriteFile(filepath.Join(w.root, name), []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// finds compares what is found, as "rule <- where" lines.
func (w *world) finds(want ...string) {
	w.t.Helper()
	var got []string
	for _, r := range Find(w.opts) {
		if _, err := rules.Parse(r.Rule); err != nil {
			w.t.Errorf("%+v: %v", r, err)
		}
		from, ok := strings.CutPrefix(r.From, "preset balanced: ")
		if !ok {
			w.t.Errorf("%+v", r)
		}
		got = append(got, strings.TrimPrefix(r.Rule, "allow ")+" <- "+strings.ReplaceAll(from, w.root, ""))
	}
	if a, b := strings.Join(got, "\n"), strings.Join(want, "\n"); a != b {
		w.t.Errorf("found\n%s\nwant\n%s", a, b)
	}
}

// TestNothing: a machine without any of it is not an error, nor is one without
// a home.
func TestNothing(t *testing.T) {
	newWorld(t).finds()
	w := newWorld(t)
	w.opts = Options{Root: w.root}
	w.finds()
	w.opts = Options{Root: w.root, Home: "home", Dir: "../x"}
	w.finds()
}
