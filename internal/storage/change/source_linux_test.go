package change

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

// handmade is a source whose upper a test makes by hand, without privileges.
func handmade(t *testing.T) (fixture, Source) {
	f := newFixture(t)
	src := f.source()
	src.XattrPrefix, src.IgnoreOwner = "user.overlay.", true
	return f, src
}

func setXattr(t *testing.T, path, name, value string) {
	t.Helper()
	if err := unix.Lsetxattr(path, name, []byte(value), 0); err != nil {
		t.Skipf("cannot set %s: %v", name, err)
	}
}

func wantChanges(t *testing.T, src Source, want ...string) {
	t.Helper()
	if got := lines(changes(t, src)); !slices.Equal(got, want) {
		t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

func TestAttributeWhiteout(t *testing.T) {
	f, src := handmade(t)
	for _, name := range []string{"d/gone", "d/kept", "other/gone"} {
		write(t, "x", f.base, name)
		write(t, "", f.upper, name)
	}
	write(t, "", f.upper, "d/never")
	setXattr(t, f.upper+"/d", "user.overlay.opaque", "x")
	for _, name := range []string{"d/gone", "d/never", "other/gone"} {
		setXattr(t, f.upper+"/"+name, "user.overlay.whiteout", "y")
	}
	wantChanges(t, src, "deleted file /d/gone", "modified file /d/kept", "modified file /other/gone")
}

func TestMetacopy(t *testing.T) {
	f, src := handmade(t)
	write(t, "content", f.base, "f")
	write(t, "content", f.base, "g")
	write(t, "another", f.base, "h")
	for _, name := range []string{"f", "g", "h"} {
		write(t, strings.Repeat("\x00", 7), f.upper, name)
		setXattr(t, f.upper+"/"+name, "user.overlay.metacopy", "")
	}
	setXattr(t, f.upper+"/g", "user.overlay.redirect", "/f")
	setXattr(t, f.upper+"/h", "user.overlay.redirect", "f")
	wantChanges(t, src, "modified file /h")
}

// A redirect is read from the box's files: it must not lead out of the base.
func TestHostileRedirects(t *testing.T) {
	for _, to := range []string{"/../outside", "..", "/", "", "a/b", "/d/../..", "/link", "/nowhere", "/d//x", strings.Repeat("x", 4000)} {
		f, src := handmade(t)
		write(t, "x", filepath.Dir(f.base), "outside/secret")
		write(t, "x", f.base, "d/x")
		os.Symlink("d", f.base+"/link")
		write(t, "x", f.upper, "n/secret")
		setXattr(t, f.upper+"/n", "user.overlay.redirect", to)
		wantOnly(t, src, "/n", "/n/secret")
	}
}

// wantOnly expects one directory, new or moved from what is not there, and one
// file in it.
func wantOnly(t *testing.T, src Source, dir, file string) {
	t.Helper()
	got := changes(t, src)
	if len(got) != 2 || got[0].Path != dir || got[0].Kind != forkbox.Added && got[0].Kind != forkbox.Renamed ||
		got[0].OldMode != 0 || got[1].Path != file || got[1].Kind != forkbox.Added {
		t.Errorf("%+v", got)
	}
}

func TestXattrs(t *testing.T) {
	f, src := handmade(t)
	for _, root := range []string{f.base, f.upper} {
		for _, name := range []string{"same", "differs", "removed", "own"} {
			write(t, "x", root, name)
		}
		setXattr(t, root+"/same", "user.a", "1")
	}
	setXattr(t, f.base+"/differs", "user.a", "1")
	setXattr(t, f.upper+"/differs", "user.a", "2")
	setXattr(t, f.base+"/removed", "user.a", "1")
	setXattr(t, f.upper+"/own", "user.overlay.origin", "whatever")
	wantChanges(t, src, "mode file /differs (xattr)", "mode file /removed (xattr)")
}

// A symlink in the base must not lead the comparison elsewhere, and one in
// the upper is a symlink and nothing else.
func TestSymlinksAreNotFollowed(t *testing.T) {
	f, src := handmade(t)
	outside := t.TempDir()
	write(t, "x", outside, "x")
	os.Symlink(outside, f.base+"/d")
	write(t, "x", f.upper, "d/x")
	os.Symlink(outside, f.upper+"/new")
	wantChanges(t, src, "type dir /d", "added file /d/x", "added symlink /new")
}

func TestHidden(t *testing.T) {
	f, src := handmade(t)
	for _, name := range []string{"u/.ssh/key", "u/.netrc", "u/.empty", "u/plain", "gone/.ssh/key"} {
		write(t, "secret", f.base, name)
	}
	write(t, "mine", f.upper, "u/.ssh/key")
	write(t, "mine", f.upper, "u/.netrc")
	write(t, "", f.upper, "u/.empty")
	write(t, "mine", f.upper, "u/.new/x")
	os.Chmod(f.upper+"/u/.ssh", 0o711)
	setXattr(t, f.upper+"/u/.ssh", "user.overlay.opaque", "y")
	src.Hidden = []string{"/u/.ssh", "/u/.netrc", "/u/.empty", "/u/.new", "/u/nothing", "/gone/.ssh"}
	wantChanges(t, src, "modified file /u/.netrc hidden", "added dir /u/.new hidden",
		"added file /u/.new/x hidden", "added file /u/.ssh/key hidden")
	for _, c := range changes(t, src) {
		if c.OldSize != 0 || c.OldMode != 0 {
			t.Errorf("%s tells of its base: %+v", c.Path, c)
		}
	}
}

// A renamed directory takes what is hidden in it along.
func TestHiddenInARenamedDirectory(t *testing.T) {
	f, src := handmade(t)
	write(t, "secret", f.base, "u/.ssh/key")
	write(t, "secret", f.upper, "v/.ssh/key")
	setXattr(t, f.upper+"/v", "user.overlay.redirect", "u")
	src.Hidden = []string{"/u/.ssh"}
	wantChanges(t, src, "renamed dir /v from /u", "added file /v/.ssh/key hidden")
}

func TestSkip(t *testing.T) {
	f, src := handmade(t)
	write(t, "x", f.upper, "proc/stub/x")
	write(t, "x", f.upper, "kept")
	src.Skip = func(path string) bool { return path == "/proc" }
	wantChanges(t, src, "added file /kept")
}

// The root filesystem holds a stub of /home, where another one is mounted.
func TestInnerFilesystem(t *testing.T) {
	f, src := handmade(t)
	home := f.work
	write(t, "x", f.base, "home/u/old")
	write(t, "x", f.upper, "home/not-shown")
	write(t, "x", f.upper, "zzz")
	write(t, "x", home, "u/new")
	write(t, "x", f.upper, "aaa")
	write(t, "x", f.merged, "n") // mounted where the outer upper has nothing
	write(t, "x", f.base, "srv/deep/old")
	src.Uppers = []Upper{{Mount: "/srv/deep", Dir: f.merged}, {Mount: "/home", Dir: home}, {Mount: "/", Dir: f.upper}}
	os.Chmod(home, 0o755)
	wantChanges(t, src, "added file /aaa", "added file /home/u/new", "added file /srv/deep/n", "added file /zzz")
}

func TestUnreadable(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root reads everything")
	}
	f, src := handmade(t)
	for _, name := range []string{"f", "base", "d/x", "list/x"} {
		write(t, "same", f.base, name)
		write(t, "same", f.upper, name)
	}
	write(t, "x", f.upper, "n/x")
	for path, mode := range map[string]os.FileMode{"/upper/f": 0, "/base/base": 0, "/upper/d": 0, "/upper/n": 0, "/upper/list": 0o600} {
		path = filepath.Dir(f.base) + path
		os.Chmod(path, mode)
		t.Cleanup(func() { os.Chmod(path, 0o700) })
	}
	wantChanges(t, src, "modified file /base (mode)", "modified dir /d (mode)", "modified file /f (mode)", "modified dir /list (mode)", "added dir /n")
}

func TestBaseThatMayNotBeEntered(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root reads everything")
	}
	f, src := handmade(t)
	write(t, "x", f.base, "d/x")
	write(t, "y", f.upper, "d/x")
	os.Chmod(f.base+"/d", 0)
	t.Cleanup(func() { os.Chmod(f.base+"/d", 0o700) })
	wantChanges(t, src, "mode dir /d (mode)", "modified file /d/x")
}

func TestNotUTF8(t *testing.T) {
	f, src := handmade(t)
	write(t, "x", f.upper, "a\xff")
	write(t, "x", f.upper, "b\n")
	got := changes(t, src)
	if len(got) != 2 || string(got[0].PathBytes) != "/a\xff" || got[1].PathBytes != nil {
		t.Errorf("%+v", got)
	}
}

func TestSizes(t *testing.T) {
	f := newFixture(t)
	shell(t, f.base, "mkdir -p d/e; printf 12345 >d/f; printf 123 >d/e/g; printf 12 >h; chmod 640 h; ln -s 1234 d/l")
	inOverlay(t, f, "redirect_dir=off", func(merged string) error {
		return run(merged, "rm -r d; printf 1234567 >h; printf 1 >n")
	})
	for _, c := range changes(t, f.source()) {
		var want forkbox.Change
		switch c.Path {
		case "/d":
			want = forkbox.Change{Size: 12, Entries: 4, OldMode: os.ModeDir | 0o755}
		case "/h":
			want = forkbox.Change{Size: 7, OldSize: 2, Mode: 0o640, OldMode: 0o640}
		case "/n":
			want = forkbox.Change{Size: 1, Mode: 0o644}
		}
		got := forkbox.Change{Size: c.Size, OldSize: c.OldSize, Entries: c.Entries, Mode: c.Mode, OldMode: c.OldMode}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %+v, want %+v", c.Path, got, want)
		}
	}
}

func TestStops(t *testing.T) {
	f, src := handmade(t)
	write(t, "x", f.upper, "a")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Read(ctx, src, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	stop := errors.New("stop")
	if err := Read(t.Context(), src, func(forkbox.Change, forkbox.Sides) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("yield: %v", err)
	}
}

// Reading what a box changed looks at what it changed, however large the
// machine is. Work is counted, not timed.
func TestPromise9DiffDependsOnWhatChanged(t *testing.T) {
	var efforts []effort
	for _, size := range []int{10, 5000} {
		f, src := handmade(t)
		for i := range size {
			write(t, "x", f.base, "d", fmt.Sprintf("f%d", i))
		}
		write(t, "changed", f.upper, "d/f1")
		write(t, "new", f.upper, "d/n")
		done, err := read(t.Context(), src, func(forkbox.Change, forkbox.Sides) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		efforts = append(efforts, done)
	}
	if efforts[0] != efforts[1] || efforts[0] != (effort{lookups: 3}) {
		t.Errorf("the work with 10 and with 5000 files in the base: %+v", efforts)
	}
}
