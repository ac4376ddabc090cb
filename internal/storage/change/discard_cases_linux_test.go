package change

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// discardAt discards what the box changed at the paths and below them.
func discardAt(t *testing.T, f fixture, src Source, paths ...string) error {
	t.Helper()
	var some []forkbox.Change
	for _, c := range changes(t, src) {
		if slices.ContainsFunc(paths, func(p string) bool { return forkbox.Within(c.Path, p) }) {
			some = append(some, c)
		}
	}
	if len(some) == 0 {
		t.Fatalf("no change at %q", paths)
	}
	return Discard(t.Context(), src, some, f.bin(t))
}

func wantFile(t *testing.T, name, want string) {
	t.Helper()
	if got, err := os.ReadFile(name); string(got) != want {
		t.Errorf("%s is %q, %v; want %q", name, got, err, want)
	}
}

// A file that was moved has a note of what it was copied from, by which the
// kernel would take it and what shows again for one file.
func TestDiscardPartsAMovedFileFromWhatShowsAgain(t *testing.T) {
	f := newFixture(t)
	shell(t, f.base, smallTree)
	inOverlay(t, f, "redirect_dir=on", func(m string) error { return run(m, "mv f h; echo more >>h; mv d/a e/a; echo A >e/a; rm -r d") })
	if err := discardAt(t, f, f.source(), "/f", "/d"); err != nil {
		t.Fatal(err)
	}
	wantChanges(t, f.source(), "added file /e/a", "added file /h")
	inOverlay(t, f, "redirect_dir=on", func(m string) error {
		wantFile(t, m+"/h", "f\nmore\n")
		wantFile(t, m+"/f", "f\n")
		wantFile(t, m+"/e/a", "A\n")
		wantFile(t, m+"/d/a", "a\n")
		return run(m, "echo new >f; echo new >d/a")
	})
	wantFile(t, f.upper+"/h", "f\nmore\n")
	wantFile(t, f.upper+"/e/a", "A\n")
}

// What is left in the box and was copied in place keeps its note: by it an
// apply tells that reality has deleted a file.
func TestDiscardKeepsTheNotesOfCopies(t *testing.T) {
	f := newFixture(t)
	shell(t, f.base, smallTree)
	inOverlay(t, f, "redirect_dir=on", func(m string) error { return run(m, "echo F >f; echo G >g") })
	if err := discardAt(t, f, f.source(), "/f"); err != nil {
		t.Fatal(err)
	}
	os.Remove(f.base + "/g")
	at(t, f.source(), "/g", func(_ forkbox.Change, s forkbox.Sides) {
		if !s.Copied() {
			t.Error("nobody knows any more that reality had it")
		}
	})
}

func TestDiscardRefusesHalfAMove(t *testing.T) {
	for _, c := range []struct{ name, script, path, other string }{
		{"moved, and another in its place", "mv d z; mkdir d; echo n >d/n", "/z", "/d"},
		{"what is in its place", "mv d z; mkdir d; echo n >d/n", "/d", "/z"},
		{"a file in its place", "mv d z; echo n >d", "/d", "/z"},
		{"swapped", "mv d t; mv other d; mv t other", "/d", "/other"},
		{"out of a deleted one", "mv d/sub z; rm -r d", "/d", "/z"},
		{"into nothing", "mv d/sub z; rm -r d", "/z", "/d"},
		{"what was moved out of a moved one", "mv d z; mv z/sub e/s", "/z", "/e/s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			shell(t, f.base, smallTree)
			inOverlay(t, f, "redirect_dir=on", func(m string) error { return run(m, c.script) })
			before := lines(changes(t, f.source()))
			err := discardAt(t, f, f.source(), c.path)
			var e *forkbox.Error
			if !errors.As(err, &e) || e.Code != forkbox.Invalid || len(e.Hints) == 0 || !strings.Contains(e.Hints[0], c.other) {
				t.Fatalf("got %v", err)
			}
			wantChanges(t, f.source(), before...)
			if err := discardAt(t, f, f.source(), c.path, c.other); err != nil {
				t.Fatal(err)
			}
			wantChanges(t, f.source())
		})
	}
}

// A directory that was moved within a moved one goes back to where that has it.
func TestDiscardPutsADirectoryBackIntoAMovedOne(t *testing.T) {
	f := newFixture(t)
	shell(t, f.base, smallTree)
	inOverlay(t, f, "redirect_dir=on", func(m string) error { return run(m, "mv d z; mv z/sub e/s") })
	if err := discardAt(t, f, f.source(), "/e/s"); err != nil {
		t.Fatal(err)
	}
	wantChanges(t, f.source(), "renamed dir /z from /d")
	inOverlay(t, f, "redirect_dir=on", func(m string) error {
		wantFile(t, m+"/z/sub/s", "s\n")
		return nil
	})
}

// Directories that hide the whole base, in one another: one name shows again,
// and nothing else.
func TestDiscardInsideOpaqueDirectories(t *testing.T) {
	f, src := handmade(t)
	write(t, "x", f.base, "d/sub/x")
	write(t, "y", f.base, "d/sub/y")
	write(t, "z", f.base, "d/z")
	write(t, "i", f.base, "d/in/i")
	write(t, "new", f.upper, "d/sub/new")
	write(t, "other", f.upper, "d/in/other")
	setXattr(t, f.upper+"/d", "user.overlay.opaque", "y")
	if err := discardAt(t, f, src, "/d/sub/x"); err != nil {
		t.Fatal(err)
	}
	wantChanges(t, src, "deleted file /d/in/i", "added file /d/in/other", "added file /d/sub/new", "deleted file /d/sub/y", "deleted file /d/z")
	if err := discardAt(t, f, src, "/"); err != nil {
		t.Fatal(err)
	}
	wantChanges(t, src)
}

// Deletions come in a second form, an attribute, in directories that say so.
func TestDiscardOfMarkedWhiteouts(t *testing.T) {
	f, src := handmade(t)
	write(t, "x", f.base, "d/x")
	write(t, "", f.upper, "d/x")
	setXattr(t, f.upper+"/d", "user.overlay.opaque", "x")
	setXattr(t, f.upper+"/d/x", "user.overlay.whiteout", "y")
	wantChanges(t, src, "deleted file /d/x")
	if err := discardAt(t, f, src, "/d/x"); err != nil {
		t.Fatal(err)
	}
	wantChanges(t, src)
}

// A box without privileges can leave directories that their owner may not
// write to, or not even enter.
func TestDiscardInDirectoriesWithoutRights(t *testing.T) {
	f, src := handmade(t)
	write(t, "x", f.base, "mod/x")
	write(t, "y", f.base, "closed/y")
	write(t, "changed", f.upper, "mod/x")
	write(t, "n", f.upper, "mod/n")
	write(t, "new", f.upper, "new/sub/new")
	os.Mkdir(f.upper+"/closed", 0o755)
	for _, dir := range []string{f.base + "/mod", f.upper + "/mod", f.upper + "/new/sub", f.upper + "/new"} {
		if err := os.Chmod(dir, 0o555); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Chmod(dir, 0o755) })
	}
	os.Chmod(f.upper+"/closed", 0)
	if err := discardAt(t, f, src, "/mod/x", "/new", "/closed"); err != nil {
		t.Fatal(err)
	}
	wantChanges(t, src, "added file /mod/n")
	shell(t, f.bin(t), "chmod -R u+rwx .")
}

func TestDiscardOnSeveralFilesystems(t *testing.T) {
	f, src := handmade(t)
	home := filepath.Dir(f.upper) + "/home"
	src.Uppers = append(src.Uppers, Upper{Mount: "/home", Dir: home})
	write(t, "x", f.base, "home/u/x")
	write(t, "X", home, "u/x")
	write(t, "new", home, "n")
	write(t, "outer", f.upper, "n")
	os.Chmod(home, 0o700)
	wantChanges(t, src, "mode dir /home (mode)", "added file /home/n", "modified file /home/u/x", "added file /n")
	if err := discardAt(t, f, src, "/home"); err != nil {
		t.Fatal(err)
	}
	wantChanges(t, src, "added file /n")
}

func TestDiscardOfOddNames(t *testing.T) {
	f, src := handmade(t)
	for _, name := range []string{"new\nline", "a b", "x\xffy", "-x", "*"} {
		write(t, "old", f.base, name)
		write(t, "new one", f.upper, name)
	}
	os.Symlink("/etc/passwd", f.upper+"/link")
	if err := discardAt(t, f, src, "/"); err != nil {
		t.Fatal(err)
	}
	wantChanges(t, src)
	if _, err := os.Stat("/etc/passwd"); err != nil {
		t.Error("a symlink was followed")
	}
}

func TestDiscardWithoutABinDoesNothing(t *testing.T) {
	f, src := handmade(t)
	write(t, "new", f.upper, "n")
	if err := Discard(t.Context(), src, changes(t, src), f.base+"/none"); err == nil {
		t.Error("no error")
	}
	wantChanges(t, src, "added file /n")
}

// look lists a tree in all that matters, from inside a box.
const look = `find . -mindepth 1 -printf '%p %y %m %l ' -type f -exec cat {} + -o -mindepth 1 -printf '\n'`

// The same without privileges, for every kind of change.
func TestRootlessDiscard(t *testing.T) {
	for _, c := range cases {
		if strings.Contains(c.script, "mknod") || strings.Contains(c.script, "chown") || strings.Contains(c.script, "sparse") {
			continue // refused in a user namespace, or a question of reading
		}
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t)
			shell(t, f.base, smallTree)
			rootless(t, f, c.script)
			src := f.source()
			src.XattrPrefix, src.IgnoreOwner = "user.overlay.", true
			if err := Discard(t.Context(), src, changes(t, src), f.bin(t)); err != nil {
				t.Fatal(err)
			}
			wantChanges(t, src)
			list := func(dir, to string) string {
				return "cd " + dir + "; (" + look + ") | sort >" + filepath.Dir(f.base) + "/" + to
			}
			shell(t, f.base, list(f.base, "want"))
			rootless(t, f, list(f.merged, "got"))
			want, _ := os.ReadFile(filepath.Dir(f.base) + "/want")
			wantFile(t, filepath.Dir(f.base)+"/got", string(want))
			if len(want) < 100 {
				t.Fatalf("nothing was compared: %q", want)
			}
		})
	}
}
