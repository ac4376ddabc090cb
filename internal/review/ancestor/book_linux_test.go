package ancestor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/git"
)

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o640); err != nil {
		t.Fatal(err)
	}
}

// look describes a file as a provider does.
func look(t testing.TB, path string) forkbox.Node {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	st := info.Sys().(*syscall.Stat_t)
	n := forkbox.Node{Mode: info.Mode(), Identity: forkbox.Identity{Dev: uint64(st.Dev), Ino: st.Ino, Ctime: st.Ctim.Nano(), Size: st.Size}}
	n.Target, _ = os.Readlink(path)
	return n
}

// fence is a moment as filesystems stamp it: all that was written so far has
// an earlier time, and what is written from now on has not.
func fence(t testing.TB) time.Time {
	t.Helper()
	probe := filepath.Join(t.TempDir(), "probe")
	write(t, probe, "")
	written := look(t, probe).Ctime
	for {
		var now unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &now); err != nil {
			t.Fatal(err)
		}
		if now.Nano() > written {
			return time.Unix(now.Unix())
		}
		time.Sleep(time.Millisecond)
	}
}

func pinPath(t testing.TB, b *Book, path string) {
	t.Helper()
	if err := b.Pin(path, look(t, path), func() (*os.File, error) { return os.Open(path) }); err != nil {
		t.Fatal(err)
	}
}

// want checks what the book says: "unknown", "absent", or mode and content.
func want(t testing.TB, b *Book, path, want string) {
	t.Helper()
	content, mode, known, absent, err := b.Base(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintf("%v %s", mode, content)
	switch {
	case !known && (content != nil || absent):
		t.Errorf("%q: unknown, but %q, %v", path, content, absent)
	case !known:
		got = "unknown"
	case absent:
		got = "absent"
	}
	if got != want {
		t.Errorf("%q: %.80q, want %.80q", path, got, want)
	}
}

func TestPin(t *testing.T) {
	dir := t.TempDir()
	odd := dir + "/" + strings.Repeat("long", 60) + "\xff\n"
	for _, p := range []string{dir + "/f", odd, dir + "/later"} {
		write(t, p, "old")
	}
	write(t, dir+"/large", strings.Repeat("x", maxCopy+1))
	write(t, dir+"/limit", strings.Repeat("x", maxCopy))
	os.Symlink("target", dir+"/link")
	unix.Mkfifo(dir+"/fifo", 0o600)
	os.Mkdir(dir+"/d", 0o750)
	at := fence(t)
	b := Open(t.TempDir()+"/yet", nil, at)
	want(t, b, dir+"/f", "unknown")
	write(t, dir+"/later", "new")
	for _, name := range []string{"f", "later", "limit", "link", "fifo"} {
		pinPath(t, b, filepath.Join(dir, name))
	}
	pinPath(t, b, odd)
	os.Mkdir(dir+"/later.d", 0o755)
	pinPath(t, b, dir+"/later.d")
	pinPath(t, b, dir+"/d")
	for range 2 {
		want(t, b, dir+"/f", "-rw-r----- old")
		want(t, b, odd, "-rw-r----- old")
		want(t, b, dir+"/limit", "-rw-r----- "+strings.Repeat("x", maxCopy))
		want(t, b, dir+"/link", "Lrwxrwxrwx target")
		for _, name := range []string{"later", "fifo", "other"} {
			want(t, b, dir+"/"+name, "unknown")
		}
		want(t, b, dir+"/d", "drwxr-x--- ") // its mode
		want(t, b, dir+"/later.d", "unknown")
		write(t, dir+"/f", "drifted") // and the pin stays
		pinPath(t, b, dir+"/f")
		b = Open(strings.TrimSuffix(b.dir, "/book"), nil, at)
	}
	want(t, Open(strings.TrimSuffix(b.dir, "/book"), nil, at.Add(1)), dir+"/f", "unknown")
}

// A large file is pinned where the filesystem can share its blocks, and only
// there; one that is too large to merge is not pinned at all.
func TestPinLarge(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/large", strings.Repeat("x", maxCopy+1))
	write(t, dir+"/huge", "")
	if err := os.Truncate(dir+"/huge", maxClone+1); err != nil {
		t.Fatal(err)
	}
	b := Open(dir+"/book", nil, fence(t))
	pinPath(t, b, dir+"/large")
	pinPath(t, b, dir+"/huge")
	right := "unknown"
	if exec.Command("cp", "--reflink=always", dir+"/large", dir+"/copy").Run() == nil {
		right = "-rw-r----- " + strings.Repeat("x", maxCopy+1)
	}
	t.Logf("%.20s", right)
	write(t, dir+"/large", "drifted")
	want(t, b, dir+"/large", right)
	want(t, b, dir+"/huge", "unknown")
}

// A pinned path costs one look; nothing is opened again.
func TestPinTwice(t *testing.T) {
	path := t.TempDir() + "/f"
	write(t, path, "old")
	b := Open(t.TempDir(), nil, fence(t))
	pinPath(t, b, path)
	err := b.Pin(path, look(t, path), func() (*os.File, error) {
		t.Error("opened again")
		return nil, fs.ErrNotExist
	})
	if err != nil {
		t.Error(err)
	}
}

// What changes while it is being pinned, or is not what was looked at, is not.
func TestPinWhatChanges(t *testing.T) {
	path, other := t.TempDir()+"/f", t.TempDir()+"/other"
	write(t, path, "old")
	write(t, other, "old")
	b := Open(t.TempDir(), nil, fence(t))
	node := look(t, path)
	for name, open := range map[string]func() (*os.File, error){
		"gone":     func() (*os.File, error) { return nil, fs.ErrNotExist },
		"replaced": func() (*os.File, error) { return os.Open(other) },
		"a directory": func() (*os.File, error) {
			return os.Open(filepath.Dir(path))
		},
		"written": func() (*os.File, error) {
			f, err := os.Open(path)
			write(t, path, "new")
			return f, err
		},
	} {
		if err := b.Pin(path, node, open); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		want(t, b, path, "unknown")
	}
	left, err := os.ReadDir(b.dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestWholeSecondsAreInDoubt(t *testing.T) {
	node := forkbox.Node{Mode: fs.ModeSymlink | 0o777, Target: "x", Identity: forkbox.Identity{Ctime: 100e9}}
	for at, known := range map[int64]string{101e9: "unknown", 102e9: "unknown", 102e9 + 1: "Lrwxrwxrwx x"} {
		b := Open(t.TempDir(), nil, time.Unix(0, at))
		if err := b.Pin("/l", node, nil); err != nil {
			t.Fatal(err)
		}
		want(t, b, "/l", known)
	}
}

func TestPinExplicitly(t *testing.T) {
	path := t.TempDir() + "/f"
	write(t, path, "old")
	b := Open(t.TempDir(), nil, fence(t))
	pinPath(t, b, path)
	steps := []struct {
		do   func() error
		want string
	}{
		{func() error { return b.PinBytes(path, []byte("synced"), 0o755) }, "-rwxr-xr-x synced"},
		{func() error { return b.PinBytes(path, nil, 0o600) }, "-rw------- "},
		{func() error { pinPath(t, b, path); return nil }, "-rw------- "},
		{func() error { return b.PinBytes(path, []byte("l"), fs.ModeSymlink|0o777) }, "Lrwxrwxrwx l"},
		{func() error { return b.PinAbsent(path) }, "absent"},
		{func() error { return b.PinBytes(path, []byte("again"), 0o600|fs.ModeSetuid) }, "urw------- again"},
		{func() error { return b.PinBytes(path, []byte("again"), 0o644) }, "-rw-r--r-- again"},
		{func() error { return b.Unpin(path) }, "unknown"},
		{func() error { return b.Unpin(path) }, "unknown"},
	}
	for i, s := range steps {
		if err := s.do(); err != nil {
			t.Fatal(i, err)
		}
		want(t, b, path, s.want)
	}
	if left, err := os.ReadDir(b.dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if err := b.PinBytes(path, nil, fs.ModeDir|0o755); forkbox.CodeOf(err) != forkbox.Invalid {
		t.Errorf("a directory: %v", err)
	}
}

func TestPinMissing(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/gone", "x")
	os.Mkdir(dir+"/still", 0o755)
	b := Open(t.TempDir(), nil, fence(t))
	os.Remove(dir + "/gone")
	for path, parent := range map[string]string{"gone": dir, "still/n": dir + "/still", "still/a/b": dir + "/still"} {
		if err := b.PinMissing(dir+"/"+path, look(t, parent)); err != nil {
			t.Fatal(err)
		}
	}
	want(t, b, dir+"/gone", "unknown") // it was there at the fence
	want(t, b, dir+"/still/n", "absent")
	want(t, b, dir+"/still/a/b", "absent")
	if err := b.PinBytes(dir+"/still/n", []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := b.PinMissing(dir+"/still/n", look(t, dir+"/still")); err != nil {
		t.Fatal(err)
	}
	want(t, b, dir+"/still/n", "-rw-r--r-- x")
}

// Whatever happens to the files of a book, it never tells something wrong.
func TestDamage(t *testing.T) {
	at := fence(t)
	make := func() *Book {
		b := Open(t.TempDir(), nil, at)
		if err := errors.Join(b.PinBytes("/a", []byte("content of a"), 0o644), b.PinBytes("/b", []byte("content of b"), 0o644), b.PinAbsent("/c")); err != nil {
			t.Fatal(err)
		}
		return b
	}
	files, _ := os.ReadDir(make().dir)
	if len(files) != 5 {
		t.Fatal(files)
	}
	for _, f := range files {
		for name, damage := range map[string]func(text []byte) []byte{
			"empty":     func([]byte) []byte { return nil },
			"cut":       func(text []byte) []byte { return text[:len(text)-1] },
			"flipped":   func(text []byte) []byte { text[len(text)/2] ^= 1; return text },
			"begins":    func(text []byte) []byte { text[0] ^= 1; return text },
			"continued": func(text []byte) []byte { return append(text, 'x') },
		} {
			b := make()
			file := filepath.Join(b.dir, f.Name())
			text, _ := os.ReadFile(file)
			if err := os.WriteFile(file, damage(text), 0o600); err != nil {
				t.Fatal(err)
			}
			unknown := 0
			for path, right := range map[string]string{"/a": "content of a", "/b": "content of b", "/c": ""} {
				content, _, known, absent, err := b.Base(t.Context(), path)
				if err != nil || known && (string(content) != right || absent != (path == "/c")) {
					t.Errorf("%s %s: %s is %q, %v, %v", name, f.Name(), path, content, absent, err)
				}
				if !known {
					unknown++
				}
			}
			if unknown != 1 {
				t.Errorf("%s %s: %d are unknown", name, f.Name(), unknown)
			}
		}
	}
}

// A record under another's name is not believed.
func TestSwappedRecords(t *testing.T) {
	b := Open(t.TempDir(), nil, fence(t))
	if err := errors.Join(b.PinAbsent("/a"), b.PinBytes("/b", []byte("b"), 0o644)); err != nil {
		t.Fatal(err)
	}
	os.Rename(filepath.Join(b.dir, b.slot("/a").name), filepath.Join(b.dir, b.slot("/b").name))
	want(t, b, "/b", "unknown")
}

func TestFullDisk(t *testing.T) {
	b := Open("/dev/null", nil, fence(t)) // nothing can be made there
	if err := b.PinBytes("/a", nil, 0o644); err == nil || !strings.Contains(err.Error(), "cannot keep the base of a file") {
		t.Error(err)
	}
	want(t, b, "/a", "unknown")
}

// sh runs a script in dir with a home of its own.
func sh(t testing.TB, dir, home, script string) {
	t.Helper()
	cmd := exec.Command("sh", "-euc", script)
	cmd.Dir, cmd.Env = dir, []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
}

func newRepo(t testing.TB, script string) *git.Repo {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	sh(t, root, home, "git config --global user.name Ada; git config --global user.email a@b; git init -q .; "+script+"; git add -A; git commit -q --allow-empty -m 1")
	return &git.Repo{Root: root, Owner: forkbox.Owner{UID: os.Geteuid(), GID: os.Getegid(), Home: home}}
}
