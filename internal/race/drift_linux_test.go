package race

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

func TestChangedSince(t *testing.T) {
	dir := t.TempDir()
	me := forkbox.Owner{UID: os.Getuid(), GID: os.Getgid()}
	for _, name := range []string{"old", ".git/index", "sub/old"} {
		path := filepath.Join(dir, name)
		check(t, os.MkdirAll(filepath.Dir(path), 0o755))
		check(t, os.WriteFile(path, nil, 0o644))
	}
	var st syscall.Stat_t
	check(t, syscall.Stat(filepath.Join(dir, "sub/old"), &st))
	since := time.Unix(st.Ctim.Unix())
	far := time.Now().Add(time.Hour)
	changed := func(who forkbox.Owner) string {
		paths, more, cut := changedSince(dir, who, since, mostLooked, far)
		names := make([]string, len(paths))
		for i, p := range paths {
			names[i], _ = filepath.Rel(dir, p)
		}
		if more {
			names = append(names, "more")
		}
		if cut {
			names = append(names, "cut")
		}
		return strings.Join(names, " ")
	}
	if got := changed(me); got != "" {
		t.Errorf("nothing changed: %s", got)
	}
	// A later edit; file times go in steps.
	for got := ""; got == ""; got = changed(me) {
		check(t, os.WriteFile(filepath.Join(dir, "sub/new"), []byte("x"), 0o644))
		check(t, os.WriteFile(filepath.Join(dir, ".git/index"), []byte("x"), 0o644))
	}
	if got := changed(me); got != "sub/new" {
		t.Error(got)
	}
	for _, name := range strings.Fields("a b c d e f g h") {
		check(t, os.WriteFile(filepath.Join(dir, name), nil, 0o644))
	}
	if got := changed(me); !strings.HasSuffix(got, " more") || len(strings.Fields(got)) != shownDrift+2 {
		t.Error(got)
	}
}

// Names of files are not for every owner of a race.
func TestPromise8ChangedFilesOfOthers(t *testing.T) {
	dir := t.TempDir()
	check(t, os.Chmod(dir, 0o700))
	check(t, os.Mkdir(filepath.Join(dir, "open"), 0o755))
	check(t, os.WriteFile(filepath.Join(dir, "open", "f"), nil, 0o644))
	stranger := forkbox.Owner{UID: 54321, GID: 54321}
	for _, at := range []string{dir, filepath.Join(dir, "open")} {
		if paths, _, _ := changedSince(at, stranger, time.Unix(0, 0), mostLooked, time.Now().Add(time.Hour)); len(paths) > 0 {
			t.Errorf("%s: %v", at, paths)
		}
	}
}

// A deletion shows in its directory; who could not look everywhere says so.
func TestChangedSinceDeleted(t *testing.T) {
	dir := t.TempDir()
	me := forkbox.Owner{UID: os.Getuid(), GID: os.Getgid()}
	check(t, os.Mkdir(filepath.Join(dir, "sub"), 0o755))
	check(t, os.WriteFile(filepath.Join(dir, "sub/gone"), nil, 0o644))
	var st syscall.Stat_t
	check(t, syscall.Stat(filepath.Join(dir, "sub"), &st))
	since, far := time.Unix(st.Ctim.Unix()), time.Now().Add(time.Hour)
	check(t, os.Remove(filepath.Join(dir, "sub/gone")))
	check(t, os.WriteFile(filepath.Join(dir, "sub/gone"), nil, 0o644))
	for paths := []string(nil); len(paths) == 0; { // file times go in steps
		check(t, os.WriteFile(filepath.Join(dir, "sub/gone"), nil, 0o644))
		check(t, os.Remove(filepath.Join(dir, "sub/gone")))
		paths, _, _ = changedSince(dir, me, since, mostLooked, far)
		if len(paths) > 0 && paths[0] != filepath.Join(dir, "sub") {
			t.Error(paths)
		}
	}
	if _, _, cut := changedSince(dir, me, time.Now().Add(time.Hour), 1, far); !cut {
		t.Error("it did not look at all, and does not say so")
	}
}
