package change

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

// at calls look with the sides of every change of a path.
func at(t *testing.T, src Source, path string, look func(forkbox.Change, forkbox.Sides)) {
	t.Helper()
	found := false
	err := Read(t.Context(), src, func(c forkbox.Change, s forkbox.Sides) error {
		if c.Path == path {
			found = true
			look(c, s)
		}
		return nil
	})
	if err != nil || !found {
		t.Fatalf("%s is among the changes: %v, %v", path, found, err)
	}
}

func content(open func() (*os.File, error)) string {
	f, err := open()
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return "nothing"
		}
		return "error: " + err.Error()
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	return fmt.Sprint(string(data), err)
}

func wantContent(t *testing.T, s forkbox.Sides, old, new string) {
	t.Helper()
	for _, side := range []struct {
		open func() (*os.File, error)
		want string
	}{{s.OpenOld, old}, {s.OpenNew, new}} {
		if got := strings.TrimSuffix(content(side.open), "<nil>"); got != side.want {
			t.Errorf("content %q, want %q", got, side.want)
		}
	}
}

func wantAbsent(t *testing.T, look func() (forkbox.Node, error)) {
	t.Helper()
	if n, err := look(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is there: %+v, %v", n, err)
	}
}

func TestSidesOfAModifiedFile(t *testing.T) {
	f, src := handmade(t)
	write(t, "old", f.base, "f")
	write(t, "newer", f.upper, "f")
	os.Link(f.upper+"/f", f.upper+"/g")
	setXattr(t, f.upper+"/f", "user.mine", "a\x00b")
	setXattr(t, f.upper+"/f", "user.overlay.origin", "x")
	os.Chmod(f.upper+"/f", fs.ModeSetuid|0o711)
	at(t, src, "/f", func(_ forkbox.Change, s forkbox.Sides) {
		wantContent(t, s, "old", "newer")
		n, err := s.New()
		var st unix.Stat_t
		unix.Lstat(f.upper+"/f", &st)
		if err != nil || n.Mode != fs.ModeSetuid|0o711 || n.Size != 5 || n.Nlink != 2 || n.UID != os.Getuid() || n.Ino != st.Ino || n.Ctime != st.Ctim.Nano() {
			t.Errorf("new: %+v, %v", n, err)
		}
		if len(n.Xattrs) != 1 || string(n.Xattrs["user.mine"]) != "a\x00b" {
			t.Errorf("attributes %q", n.Xattrs)
		}
		if o, err := s.Old(); err != nil || o.Mode != 0o644 || o.Size != 3 || o.Xattrs != nil {
			t.Errorf("old: %+v, %v", o, err)
		}
		if !s.Copied() {
			t.Error("overlayfs noted an origin")
		}
	})
}

func TestSidesOfWhatHasOne(t *testing.T) {
	f, src := handmade(t)
	write(t, "gone", f.base, "d/f")
	write(t, "", f.upper, "d/f")
	setXattr(t, f.upper+"/d", "user.overlay.opaque", "x")
	setXattr(t, f.upper+"/d/f", "user.overlay.whiteout", "y")
	long := strings.Repeat("long/", 200)
	os.Symlink(long, f.upper+"/link")
	unix.Mkfifo(f.upper+"/fifo", 0o600)
	at(t, src, "/d/f", func(_ forkbox.Change, s forkbox.Sides) {
		wantAbsent(t, s.New)
		wantContent(t, s, "gone", "nothing")
		if s.Copied() {
			t.Error("what is gone is no copy")
		}
	})
	at(t, src, "/link", func(_ forkbox.Change, s forkbox.Sides) {
		wantAbsent(t, s.Old)
		if n, err := s.New(); err != nil || n.Target != long || n.Mode.Type() != fs.ModeSymlink {
			t.Errorf("%+v, %v", n, err)
		}
		if _, err := s.OpenNew(); err == nil {
			t.Error("a symlink was opened")
		}
	})
	at(t, src, "/fifo", func(_ forkbox.Change, s forkbox.Sides) {
		if _, err := s.OpenNew(); !errors.Is(err, errNotRegular) {
			t.Errorf("a fifo was opened: %v", err)
		}
	})
}

// Between the listing and the reading anything can be replaced.
func TestSidesDoNotFollowWhatWasReplaced(t *testing.T) {
	f, src := handmade(t)
	secret := t.TempDir() + "/secret"
	write(t, "secret", secret)
	write(t, "old", f.base, "f")
	write(t, "newer", f.upper, "f")
	at(t, src, "/f", func(_ forkbox.Change, s forkbox.Sides) {
		for _, dir := range []string{f.base, f.upper} {
			os.Remove(dir + "/f")
			os.Symlink(secret, dir+"/f")
		}
		for _, open := range []func() (*os.File, error){s.OpenOld, s.OpenNew} {
			if got := content(open); !strings.HasPrefix(got, "error") {
				t.Errorf("read %q", got)
			}
		}
		if n, err := s.Old(); err != nil || n.Target != secret {
			t.Errorf("old is not what is there now: %+v, %v", n, err)
		}
	})
}

func TestSidesOfMetacopy(t *testing.T) {
	for script, path := range map[string]string{"chmod 600 f": "/f", "chmod 600 f; mv f d/n": "/d/n", "chmod 600 d/a; mv d z": "/z/a", "ln f n; chmod 600 n": "/n"} {
		f := newFixture(t)
		shell(t, f.base, "umask 022; mkdir d; printf content >f; printf content >d/a")
		inOverlay(t, f, "redirect_dir=on,metacopy=on", func(merged string) error { return run(merged, script) })
		at(t, f.source(), path, func(c forkbox.Change, s forkbox.Sides) {
			if got := content(s.OpenNew); got != "content<nil>" {
				t.Errorf("%s: %q", script, got)
			}
		})
	}
}

// A redirect that the box wrote must not have a secret read for it.
func TestMetacopyOfASecret(t *testing.T) {
	f, src := handmade(t)
	write(t, "secret", f.base, "u/.ssh/key")
	write(t, "\x00\x00\x00\x00\x00\x00", f.upper, "n")
	setXattr(t, f.upper+"/n", "user.overlay.metacopy", "")
	setXattr(t, f.upper+"/n", "user.overlay.redirect", "/u/.ssh/key")
	src.Hidden = []string{"/u/.ssh"}
	at(t, src, "/n", func(_ forkbox.Change, s forkbox.Sides) { wantContent(t, s, "nothing", "nothing") })
}

func TestSidesOfHiddenPathsTellNothing(t *testing.T) {
	f, src := handmade(t)
	for _, name := range []string{".ssh/key", ".netrc"} {
		write(t, "secret", f.base, name)
		write(t, "mine", f.upper, name)
	}
	src.Hidden = []string{"/.ssh", "/.netrc"}
	for _, path := range []string{"/.ssh/key", "/.netrc"} {
		at(t, src, path, func(_ forkbox.Change, s forkbox.Sides) {
			wantAbsent(t, s.Old)
			wantContent(t, s, "nothing", "mine")
			if err := s.Below(nil); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("below: %v", err)
			}
		})
	}
}

// A file that the box was shown empty must not become a name of the secret.
func TestHiddenFilesAreNoLinkTargets(t *testing.T) {
	f, src := handmade(t)
	write(t, "secret", f.base, ".netrc")
	write(t, "secret", f.base, ".pgpass")
	write(t, "", f.upper, ".netrc")
	write(t, "mine", f.upper, ".pgpass")
	os.Link(f.upper+"/.netrc", f.upper+"/n1")
	os.Link(f.upper+"/.netrc", f.upper+"/n2")
	os.Link(f.upper+"/.pgpass", f.upper+"/p1")
	os.Link(f.upper+"/.pgpass", f.upper+"/p2")
	src.Hidden = []string{"/.netrc", "/.pgpass"}
	wantChanges(t, src, "modified file /.pgpass hidden", "added file /n1", "added file /n2 = /n1", "added file /p1", "added file /p2 = /p1")
}

func below(t *testing.T, src Source, path string) (list []string) {
	t.Helper()
	at(t, src, path, func(_ forkbox.Change, s forkbox.Sides) {
		err := s.Below(func(path string, n forkbox.Node, kept bool) error {
			line := fmt.Sprintf("%s %v %d", path, n.Mode, n.Nlink)
			if kept {
				line = path + " kept"
				if n.Size != 0 || n.Ino != 0 {
					t.Errorf("%s tells %+v", path, n)
				}
			}
			list = append(list, line)
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	return list
}

func TestBelow(t *testing.T) {
	f, src := handmade(t)
	for _, name := range []string{"d/a", "d/sub/x", "d/.ssh/key", "d/mnt/other", "d/skip/x"} {
		write(t, "content", f.base, name)
	}
	write(t, "x", f.upper, "d") // a file now
	src.Hidden = []string{"/d/.ssh"}
	src.Skip = func(path string) bool { return path == "/d/skip" }
	src.Uppers = append(src.Uppers, Upper{Mount: "/d/mnt", Dir: f.work})
	want := []string{"/d/.ssh kept", "/d/a -rw-r--r-- 1", "/d/mnt kept", "/d/skip kept", "/d/sub drwxr-xr-x 2", "/d/sub/x -rw-r--r-- 1"}
	if got := below(t, src, "/d"); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestBelowStops(t *testing.T) {
	f, src := handmade(t)
	write(t, "x", f.base, "d/a")
	write(t, "x", f.base, "d/b")
	write(t, "x", f.upper, "d")
	stop := errors.New("stop")
	at(t, src, "/d", func(_ forkbox.Change, s forkbox.Sides) {
		n := 0
		if err := s.Below(func(string, forkbox.Node, bool) error { n++; return stop }); !errors.Is(err, stop) || n != 1 {
			t.Errorf("%v after %d", err, n)
		}
	})
}

// What was moved out of a deleted directory is not lost with it, and a renamed
// directory's old side is where it was.
func TestSidesOfMovedDirectories(t *testing.T) {
	f := newFixture(t)
	shell(t, f.base, "umask 022; mkdir -p d/sub e; echo a >d/a; echo s >d/sub/s; chmod 700 d/sub")
	inOverlay(t, f, "redirect_dir=on", func(merged string) error {
		return run(merged, "mv d/sub z; rm -r d; chmod 755 z; chown 5:6 z; rm z/s; rmdir e; mkdir e; ")
	})
	if got := below(t, f.source(), "/d"); !slices.Equal(got, []string{"/d/a -rw-r--r-- 1"}) {
		t.Errorf("%q", got)
	}
	at(t, f.source(), "/z", func(c forkbox.Change, s forkbox.Sides) {
		o, err := s.Old()
		if err != nil || o.Mode != fs.ModeDir|0o700 || c.OldMode != o.Mode {
			t.Errorf("old %+v, %v; %+v", o, err, c)
		}
		if c.Owner != "5:6" || c.OldOwner != "0:0" || !slices.Equal(c.Attrs, []string{"mode", "owner"}) {
			t.Errorf("%+v", c)
		}
	})
	if got := below(t, f.source(), "/z"); !slices.Equal(got, []string{"/z/s -rw-r--r-- 1"}) {
		t.Errorf("%q", got)
	}
}

// The root's upper was made without the base's extended attributes.
func TestRootAttributes(t *testing.T) {
	f, src := handmade(t)
	setXattr(t, f.base, "user.kept", "1")
	wantChanges(t, src)
	setXattr(t, f.upper, "user.new", "2")
	wantChanges(t, src, "mode dir / (xattr)")
	at(t, src, "/", func(_ forkbox.Change, s forkbox.Sides) {
		if n, err := s.New(); err != nil || len(n.Xattrs) != 2 {
			t.Errorf("landing this would remove attributes: %q, %v", n.Xattrs, err)
		}
	})
}
