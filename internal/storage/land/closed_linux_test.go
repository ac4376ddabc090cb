package land

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox/internal/storage/land/files"
)

// TestStagingIsClosedAtEveryStep: what is about to land, or was replaced, may be a
// program that runs as its owner for any user who executes it. It lies in
// directories that no other user gets into, in reality and in the store, from the
// first moment on, whatever the umask.
func TestStagingIsClosedAtEveryStep(t *testing.T) {
	w := newWorld(t, quickDir(t))
	w.furnish()
	w.write("/program", "old")
	w.must(os.Chmod(w.at("/program"), fs.ModeSetuid|0o755))
	program := w.put("/program", "new")
	program.Node.Mode = fs.ModeSetuid | 0o755
	defer unix.Umask(unix.Umask(0))
	seen := 0
	files.Step = func(name string) error {
		seen += w.wantClosed("before " + name)
		return nil
	}
	defer func() { files.Step = func(string) error { return nil } }()
	w.must(w.land(program))
	seen += w.wantClosed("landed")
	w.must(w.undo())
	if seen == 0 {
		t.Error("nothing was staged")
	}
}

// wantClosed looks at every directory of a landing and says how many there are.
func (w *world) wantClosed(when string) (found int) {
	w.Helper()
	for _, top := range []string{w.root, w.store} {
		_ = filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.IsDir() || !strings.HasPrefix(d.Name(), ".forkbox-") && path != w.cfg().Dir {
				return nil
			}
			found++
			if info, err := d.Info(); err == nil && info.Mode().Perm() != 0o700 {
				w.Errorf("%s: %s is %v", when, path, info.Mode())
			}
			return fs.SkipDir
		})
	}
	return found
}
