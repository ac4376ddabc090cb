package land

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/storage/land/files"
)

// world is a tree to land in, with a store beside it.
type world struct {
	testing.TB
	root, store string
	file        *os.File
	owner       *forkbox.Owner
	landings    int
	// overlay: hard links of a lower layer break when they are copied up, and
	// staging directories cannot be stowed elsewhere.
	overlay bool
}

func newWorld(t testing.TB, at string) *world {
	t.Helper()
	w := &world{TB: t, root: filepath.Join(at, "root"), store: filepath.Join(at, "store")}
	for _, dir := range []string{w.root, w.store} {
		w.must(os.MkdirAll(dir, 0o755))
	}
	w.openRoot()
	return w
}

func (w *world) openRoot() {
	var err error
	w.file, err = os.OpenFile(w.root, unix.O_PATH|unix.O_DIRECTORY, 0)
	w.must(err)
	w.Cleanup(func() { w.file.Close() })
}

// quickDir is a directory where syncing costs nothing, if there is one that
// can hold all that the tests want.
func quickDir(t testing.TB) string {
	dir, err := os.MkdirTemp("/dev/shm", "land-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { wipe(dir) })
	if unix.Setxattr(dir, "user.test", []byte("x"), 0) != nil {
		return t.TempDir()
	}
	return dir
}

// wipe removes a directory that may have read-only ones in it.
func wipe(dir string) {
	filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			os.Chmod(p, 0o700)
		}
		return nil
	})
	os.RemoveAll(dir)
}

func (w *world) must(err error) {
	w.Helper()
	var e *forkbox.Error
	if errors.As(err, &e) {
		w.Fatal(err, e.Items)
	}
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) cfg() Config {
	return Config{Dir: filepath.Join(w.store, fmt.Sprintf("r%d", w.landings)), Root: w.file, Owner: w.owner, Keep: true}
}

func (w *world) at(p string) string { return w.root + p }

func (w *world) write(p, content string) {
	w.Helper()
	w.must(os.MkdirAll(filepath.Dir(w.at(p)), 0o755))
	w.must(os.WriteFile(w.at(p), []byte(content), 0o644))
}

func (w *world) read(p string) string {
	w.Helper()
	text, err := os.ReadFile(w.at(p))
	w.must(err)
	return string(text)
}

// begin starts the next landing.
func (w *world) begin() *Landing {
	w.Helper()
	w.landings++
	l, err := Begin(w.Context(), w.cfg())
	w.must(err)
	return l
}

// land stages and commits.
func (w *world) land(items ...Item) error {
	w.Helper()
	l := w.begin()
	for _, it := range items {
		if _, err := l.Stage(w.Context(), it); err != nil {
			w.must(l.Abort())
			return err
		}
	}
	return l.Commit(w.Context())
}

// seen is what is at a path, for Expect.
func (w *world) seen(p string) *forkbox.Identity {
	var st unix.Stat_t
	if unix.Lstat(w.at(p), &st) != nil {
		return nil
	}
	return &files.Describe(&st).Identity
}

func (w *world) put(p, content string) Item {
	return Item{Path: p, Op: Put, Node: w.node(0o644), Bytes: []byte(content), Expect: w.seen(p)}
}

func (w *world) putDir(p string, mode fs.FileMode) Item {
	return Item{Path: p, Op: Put, Node: w.node(fs.ModeDir | mode), Expect: w.seen(p)}
}

func (w *world) putLink(p, target string) Item {
	it := Item{Path: p, Op: Put, Node: w.node(fs.ModeSymlink | 0o777), Expect: w.seen(p)}
	it.Node.Target = target
	return it
}

func (w *world) remove(p string) Item { return Item{Path: p, Op: Remove, Expect: w.seen(p)} }

func (w *world) move(from, to string) Item {
	return Item{Path: to, Op: Move, From: from, Expect: w.seen(from)}
}

func (w *world) chmod(p string, mode fs.FileMode) Item {
	return Item{Path: p, Op: Attr, Node: w.node(mode), Expect: w.seen(p)}
}

func (w *world) node(mode fs.FileMode) forkbox.Node {
	n := forkbox.Node{Mode: mode, UID: os.Geteuid(), GID: os.Getegid(), ModTime: time.Unix(1_600_000_000, 123456789)}
	if w.owner != nil {
		n.UID, n.GID = w.owner.UID, w.owner.GID
	}
	return n
}

// snap describes everything in the tree, but the times of directories.
func (w *world) snap() map[string]string {
	w.Helper()
	all, first := map[string]string{}, map[files.Inode]string{}
	err := filepath.WalkDir(w.root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			if !errors.Is(err, fs.ErrPermission) {
				return err
			}
		}
		rel := "/" + strings.TrimPrefix(strings.TrimPrefix(p, w.root), "/")
		if w.overlay && strings.HasPrefix(rel, "/.forkbox-") {
			return nil
		}
		all[rel] = w.describe(p, rel, first)
		return nil
	})
	w.must(err)
	return all
}

func (w *world) describe(p, rel string, first map[files.Inode]string) string {
	var st unix.Stat_t
	w.must(unix.Lstat(p, &st))
	o := files.Describe(&st)
	text := fmt.Sprintf("%o %d:%d rdev=%d", o.Mode, o.UID, o.GID, o.Rdev)
	if !o.IsDir() {
		text += fmt.Sprintf(" size=%d mtime=%d", o.Size, o.Mtime)
		if _, ok := first[o.Inode()]; !ok {
			first[o.Inode()] = rel
		}
		if !w.overlay {
			text += fmt.Sprintf(" same=%q", first[o.Inode()])
		}
	}
	switch {
	case o.IsSymlink():
		target, _ := os.Readlink(p)
		text += " ->" + target
	case o.IsRegular():
		content, err := os.ReadFile(p)
		text += fmt.Sprintf(" %x %v", sha256.Sum256(content), err)
	}
	return text + xattrText(p)
}

func xattrText(p string) string {
	fd, err := unix.Open(p, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err.Error()
	}
	defer unix.Close(fd)
	all := files.Handle{Fd: fd}.Xattrs()
	var names []string
	for name, value := range all {
		names = append(names, fmt.Sprintf(" %s=%x", name, value))
	}
	slices.Sort(names)
	return strings.Join(names, "")
}

// differences names what is not the same in two trees.
func differences(got, want map[string]string) string {
	var b bytes.Buffer
	for p, w := range want {
		if g, ok := got[p]; !ok {
			fmt.Fprintf(&b, "missing  %q: %s\n", p, w)
		} else if g != w {
			fmt.Fprintf(&b, "differs  %q:\n  is     %s\n  should %s\n", p, g, w)
		}
	}
	for p, g := range got {
		if _, ok := want[p]; !ok {
			fmt.Fprintf(&b, "too much %q: %s\n", p, g)
		}
	}
	return b.String()
}

func (w *world) same(what string, want map[string]string) {
	w.Helper()
	if diff := differences(w.snap(), want); diff != "" {
		w.Fatalf("%s: the tree is not what it should be\n%s", what, diff)
	}
}

// noTrace checks that no landing has left anything in the store.
func (w *world) noTrace(what string) {
	w.Helper()
	names, err := os.ReadDir(w.store)
	w.must(err)
	if len(names) > 0 {
		w.Fatalf("%s: %v is left in the store", what, names)
	}
}

func wantCode(t testing.TB, err error, code forkbox.Code) {
	t.Helper()
	if err == nil || forkbox.CodeOf(err) != code {
		t.Fatalf("error is %v (%s), not %s", err, forkbox.CodeOf(err), code)
	}
}

func (w *world) undo() error { return Undo(w.Context(), w.cfg(), nil) }
