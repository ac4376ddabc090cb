package copying

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// fingerprint is all that a copy must have as well, by path.
func fingerprint(t testing.TB, root string) map[string]string {
	t.Helper()
	all, first := map[string]string{}, map[inode]string{}
	must(t, filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return err
		}
		if kind := st.Mode & unix.S_IFMT; kind == unix.S_IFIFO || kind == unix.S_IFSOCK {
			return nil
		}
		id := inode{uint64(st.Dev), st.Ino}
		if name, again := first[id]; again {
			all[rel] = "is " + name
			return nil
		}
		first[id] = rel
		all[rel] = fmt.Sprintf("mode %o owner %d:%d time %v xattr %q %s", st.Mode, st.Uid, st.Gid, st.Mtim, xattrOf(path), contentOf(t, path, &st))
		return nil
	}))
	return all
}

func xattrOf(path string) string {
	buf := make([]byte, 100)
	n, err := unix.Lgetxattr(path, "user.test", buf)
	if err != nil {
		return ""
	}
	return string(buf[:n])
}

func contentOf(t testing.TB, path string, st *unix.Stat_t) string {
	t.Helper()
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		data, err := os.ReadFile(path)
		must(t, err)
		return fmt.Sprintf("%d bytes %x", len(data), sha256.Sum256(data))
	case unix.S_IFLNK:
		to, err := os.Readlink(path)
		must(t, err)
		return to
	}
	return ""
}

func wantSame(t testing.TB, want, got map[string]string) {
	t.Helper()
	if maps.Equal(want, got) {
		return
	}
	for path, was := range want {
		if got[path] != was {
			t.Errorf("%q\n is  %s\n was %s", path, got[path], was)
		}
	}
	for path, is := range got {
		if _, known := want[path]; !known {
			t.Errorf("%q is left over: %s", path, is)
		}
	}
	t.FailNow()
}

// change does something to a tree that a service might do.
func change(t testing.TB, root string, r *rand.Rand) {
	t.Helper()
	name := func() string {
		dir := []string{".", "d", "d/e"}[r.IntN(3)]
		return filepath.Join(root, dir, string(rune('a'+r.IntN(6))))
	}
	at := name()
	if info, err := os.Lstat(filepath.Dir(at)); err != nil || !info.IsDir() {
		return // it may be a pipe by now, and whoever opens it waits
	}
	// What fails fails: the tree is whatever it is then.
	switch r.IntN(12) {
	case 0:
		_ = os.RemoveAll(at)
	case 1:
		_ = os.Rename(at, name())
	case 2:
		_ = os.Link(at, name())
	case 3:
		_ = os.Symlink(fmt.Sprint(r.IntN(5)), at)
	case 4:
		_ = os.MkdirAll(at, 0o755)
	case 5:
		_ = os.Truncate(at, r.Int64N(200_000))
	case 6:
		if info, err := os.Lstat(at); err == nil && info.Mode().IsRegular() {
			_ = os.Chmod(at, []fs.FileMode{0o600, 0o400, 0o644}[r.IntN(3)])
		}
	case 7:
		_ = unix.Lsetxattr(at, "user.test", fmt.Append(nil, r.IntN(9)), 0)
	case 8:
		_ = unix.Lremovexattr(at, "user.test")
	case 9:
		_ = unix.Mkfifo(at, 0o600)
	default:
		if f, err := os.OpenFile(at, os.O_WRONLY|os.O_CREATE|unix.O_NONBLOCK, 0o600); err == nil {
			_, _ = f.WriteAt([]byte(strings.Repeat(fmt.Sprint(r.IntN(10)), r.IntN(30_000))), r.Int64N(100_000))
			f.Close()
		}
	}
}

// Whatever changed between two passes, the copy is like the tree after the
// second: nothing is lost and nothing is left over.
func TestTheLastPassMakesTheCopyLikeTheTree(t *testing.T) {
	for seed := range uint64(60) {
		changeBetweenPasses(t, t.TempDir(), filepath.Join(t.TempDir(), "copy"), neverShare, seed)
	}
}

// changeBetweenPasses changes a tree between passes, and compares after the last.
func changeBetweenPasses(t *testing.T, root, to string, share sharing, seed uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 17))
	must(t, os.MkdirAll(filepath.Join(root, "d/e"), 0o755))
	m := newMirror(share)
	items := []item{{from: root, to: to}}
	for range 4 {
		for range 25 {
			change(t, root, r)
		}
		must(t, m.pass(t.Context(), items, true, nil))
	}
	for range r.IntN(25) {
		change(t, root, r)
	}
	must(t, m.pass(t.Context(), items, false, nil))
	wantSame(t, fingerprint(t, root), fingerprint(t, to))
}

func TestSmallChangesWriteLittle(t *testing.T) {
	root, to := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	must(t, os.WriteFile(filepath.Join(root, "table"), []byte(strings.Repeat("0123456789abcdef", 1<<16)), 0o600))
	sparse, err := os.Create(filepath.Join(root, "sparse"))
	must(t, err)
	defer sparse.Close()
	must(t, sparse.Truncate(1<<40))
	_, err = sparse.WriteAt([]byte("x"), 1<<39)
	must(t, err)
	m := newMirror(neverShare)
	items := []item{{from: root, to: to}}
	must(t, m.pass(t.Context(), items, true, nil))
	// The same inode, and hardly any more blocks: it was written to, not anew.
	var before, after unix.Stat_t
	must(t, unix.Stat(filepath.Join(to, "table"), &before))
	_, err = sparse.WriteAt([]byte("y"), 1<<38)
	must(t, err)
	must(t, unix.Fallocate(int(sparse.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 1<<39, 1<<20))
	f, err := os.OpenFile(filepath.Join(root, "table"), os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteAt([]byte("changed"), 500_000)
	must(t, errors.Join(err, f.Close()))
	must(t, m.pass(t.Context(), items, false, nil))
	must(t, unix.Stat(filepath.Join(to, "table"), &after))
	if before.Ino != after.Ino {
		t.Error("the file was made anew")
	}
	must(t, unix.Stat(filepath.Join(to, "sparse"), &after))
	if after.Blocks > 2048 || after.Size != 1<<40 {
		t.Errorf("the sparse file has %d blocks and %d bytes", after.Blocks, after.Size)
	}
	a, err := os.ReadFile(filepath.Join(root, "table"))
	must(t, err)
	b, err := os.ReadFile(filepath.Join(to, "table"))
	if err != nil || string(a) != string(b) {
		t.Error("the table differs", err)
	}
	y := make([]byte, 2)
	copied, err := os.Open(filepath.Join(to, "sparse"))
	must(t, err)
	defer copied.Close()
	if _, err := copied.ReadAt(y[:1], 1<<38); err != nil || y[0] != 'y' {
		t.Errorf("%q %v", y, err)
	}
	if _, err := copied.ReadAt(y[1:], 1<<39); err != nil || y[1] != 0 {
		t.Errorf("%q %v", y, err)
	}
}

func TestAPlainCopyDropsWhatItMust(t *testing.T) {
	root, to := t.TempDir(), t.TempDir()
	for _, name := range []string{"a.pid", "data", "d/a.pid"} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755))
		must(t, os.WriteFile(filepath.Join(root, name), []byte(name), 0o640))
	}
	must(t, os.Chmod(filepath.Join(root, "d"), 0o500))
	defer os.Chmod(filepath.Join(root, "d"), 0o700)
	var last int64
	taken, err := Take(t.Context(), []Source{{Name: "files", Paths: []string{root, root + "/gone"}, Drop: []string{"*.pid"}}},
		Options{Put: into(to), Progress: func(done, total int64) { last = total - done }})
	must(t, err)
	copied := filepath.Join(to, filepath.Base(root))
	defer os.Chmod(filepath.Join(copied, "d"), 0o700)
	if taken.Way != Plain || taken.Files != 2 || last != 0 {
		t.Errorf("%+v, %d bytes are left", taken, last)
	}
	want := fingerprint(t, root)
	delete(want, "a.pid")
	wantSame(t, want, fingerprint(t, copied))
}
