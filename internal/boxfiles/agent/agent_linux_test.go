package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/boxfiles"
)

func TestReadSpans(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	content := strings.Repeat("0123456789", 1_000_000)
	w.write("f", content)
	r, err := boxfiles.Open(w.ctx, w.dial(t), "read", w.request(boxfiles.OpRead, "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if r.Size != int64(len(content)) || r.Mode != 0o644 || r.Tag == "" {
		t.Errorf("%+v", r.Info)
	}
	all, err := io.ReadAll(r)
	if err != nil || string(all) != content {
		t.Errorf("%d bytes, %v", len(all), err)
	}
	for _, from := range []int64{5, 9_999_995, 0, 4_200_000} {
		if _, err := r.Seek(from, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 5)
		if _, err := io.ReadFull(r, buf); err != nil || string(buf) != content[from:from+5] {
			t.Errorf("from %d: %q, %v", from, buf, err)
		}
	}
}

// TestOnlyFilesAreRead: nothing else is so much as opened, since that could block
// for ever.
func TestOnlyFilesAreRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if err := syscall.Mkfifo(w.path("fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("loop", w.path("loop")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]forkbox.Code{
		w.path("fifo"): forkbox.Invalid, w.dir: forkbox.Invalid, "/dev/zero": forkbox.Invalid, w.path("loop"): forkbox.Invalid, w.path("none"): forkbox.NotFound,
	} {
		for _, op := range []boxfiles.Op{boxfiles.OpRead, boxfiles.OpWrite} {
			if op == boxfiles.OpWrite && want == forkbox.NotFound {
				continue
			}
			_, err := boxfiles.Do(w.ctx, w.dial(t), "do", boxfiles.Request{Op: op, Path: []byte(path)})
			if forkbox.CodeOf(err) != want {
				t.Errorf("%s %s: %v", op, path, err)
			}
		}
	}
}

func (w *world) put(name, content string, change func(*boxfiles.Request)) (boxfiles.Info, error) {
	w.Helper()
	req := w.request(boxfiles.OpWrite, name)
	if change != nil {
		change(&req)
	}
	out, err := boxfiles.Send(w.ctx, w.dial(w.TB), "write", req, strings.NewReader(content))
	if err != nil {
		return boxfiles.Info{}, err
	}
	return *out.Info, nil
}

func TestWriteKeepsWhatIsNotSaid(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if _, err := w.put("a/b", "x", nil); forkbox.CodeOf(err) != forkbox.NotFound {
		t.Errorf("without its directory: %v", err)
	}
	info, err := w.put("a/b", "one", func(r *boxfiles.Request) { r.Parents = true })
	if err != nil || info.Mode != 0o644 || info.Size != 3 {
		t.Fatalf("%+v, %v", info, err)
	}
	if err := unix.Chmod(w.path("a/b"), 0o4751); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("a/b", w.path("link")); err != nil {
		t.Fatal(err)
	}
	at := time.Date(2001, 2, 3, 4, 5, 6, 7, time.UTC)
	info, err = w.put("link", "two", func(r *boxfiles.Request) { r.Modified = &at })
	if err != nil || info.Mode != 0o4751 || !info.Modified.Equal(at) || w.read("a/b") != "two" {
		t.Errorf("through a symlink: %+v, %v", info, err)
	}
	if st, err := os.Lstat(w.path("link")); err != nil || st.Mode()&os.ModeSymlink == 0 {
		t.Error("the symlink is gone")
	}
	if left := w.leftovers(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestWriteConditions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fresh := func(r *boxfiles.Request) { r.New = true }
	info, err := w.put("f", "1", fresh)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.put("f", "2", fresh); forkbox.CodeOf(err) != forkbox.Exists {
		t.Errorf("new twice: %v", err)
	}
	match := func(r *boxfiles.Request) { r.Match = info.Tag }
	if _, err := w.put("f", "longer", match); err != nil {
		t.Error(err)
	}
	if _, err := w.put("f", "3", match); forkbox.CodeOf(err) != forkbox.Conflict {
		t.Errorf("with a tag of old: %v", err)
	}
	if w.read("f") != "longer" {
		t.Errorf("it is %q", w.read("f"))
	}
}

// TestACallerThatVanishesLeavesNothing of what it was writing.
func TestACallerThatVanishesLeavesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("f", "old")
	for _, op := range []boxfiles.Op{boxfiles.OpWrite, boxfiles.OpTarIn} {
		ctx, cancel := context.WithCancel(w.ctx)
		r, feed := io.Pipe()
		done := make(chan error, 1)
		go func() {
			name := "f"
			if op == boxfiles.OpTarIn {
				name = "."
			}
			_, err := boxfiles.Send(ctx, w.dial(t), "write", w.request(op, name), r)
			done <- err
		}()
		if _, err := feed.Write(make([]byte, 300_000)); err != nil {
			t.Fatal(err)
		}
		cancel()
		if err := <-done; err == nil {
			t.Error("it succeeded")
		}
		feed.Close()
		if w.read("f") != "old" {
			t.Errorf("it is %q", w.read("f"))
		}
	}
	if left := w.leftovers(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func (w *world) names(after string, limit, depth int) (list []string, next string) {
	w.Helper()
	req := w.request(boxfiles.OpList, ".")
	req.After, req.Limit, req.Depth = []byte(after), limit, depth
	rest, err := boxfiles.List(w.ctx, w.dial(w.TB), "list", req, func(i boxfiles.Info) error {
		list = append(list, string(i.Path))
		return nil
	})
	if err != nil {
		w.Fatal(err)
	}
	return list, string(rest)
}

// TestListInPages: whatever the size of a page, all names come once and in
// order, the strange ones, too.
func TestListInPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	want := []string{"a", "b", "b/x", "b/x/deep", "b/y", "c\xff\n", "d"}
	for _, name := range want {
		if name == "b" || name == "b/x" {
			if err := os.Mkdir(w.path(name), 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		w.write(name, "")
	}
	if err := os.Symlink("b", w.path("e")); err != nil {
		t.Fatal(err)
	}
	want = append(want, "e")
	for limit := 1; limit <= len(want)+1; limit++ {
		var got []string
		for after := ""; ; {
			page, next := w.names(after, limit, 9)
			got = append(got, page...)
			if next == "" {
				break
			}
			after = next
		}
		if !slices.Equal(got, want) {
			t.Errorf("in pages of %d: %q", limit, got)
		}
	}
	if flat, _ := w.names("", 100, 1); !slices.Equal(flat, []string{"a", "b", "c\xff\n", "d", "e"}) {
		t.Errorf("without what is below: %q", flat)
	}
}

func TestMoveAndRemove(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("a/f", "1")
	w.write("g", "2")
	do := func(op boxfiles.Op, from, to string, change func(*boxfiles.Request)) error {
		req := w.request(op, from)
		if to != "" {
			req.To = []byte(w.path(to))
		}
		if change != nil {
			change(&req)
		}
		_, err := boxfiles.Do(w.ctx, w.dial(t), "do", req)
		return err
	}
	if err := do(boxfiles.OpMove, "a/f", "g", nil); forkbox.CodeOf(err) != forkbox.Exists {
		t.Errorf("onto another: %v", err)
	}
	if err := do(boxfiles.OpMove, "a/f", "g", func(r *boxfiles.Request) { r.Replace = true }); err != nil || w.read("g") != "1" {
		t.Errorf("onto another, by force: %v", err)
	}
	if err := do(boxfiles.OpMove, "a", "a/b", nil); forkbox.CodeOf(err) != forkbox.Invalid {
		t.Errorf("into itself: %v", err)
	}
	w.write("a/f", "1")
	if err := do(boxfiles.OpRemove, "a", "", nil); forkbox.CodeOf(err) != forkbox.Busy {
		t.Errorf("a directory with something in it: %v", err)
	}
	if err := do(boxfiles.OpRemove, "a", "", func(r *boxfiles.Request) { r.Recursive = true }); err != nil {
		t.Error(err)
	}
	if err := do(boxfiles.OpRemove, "a", "", nil); forkbox.CodeOf(err) != forkbox.NotFound {
		t.Errorf("what is gone: %v", err)
	}
	if err := remove("/", true); forkbox.CodeOf(err) != forkbox.Invalid {
		t.Fatalf("the root: %v", err)
	}
}

// TestMoveByCopy is what is done where the kernel cannot rename.
func TestMoveByCopy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("from/a/f", "1")
	if err := os.Symlink("nowhere", w.path("from/link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(w.path("from/a"), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := moveByCopy(w.path("from"), w.path("to"), unix.RENAME_NOREPLACE); err != nil {
		t.Fatal(err)
	}
	if err := moveByCopy(w.path("to/a/f"), w.path("g"), unix.RENAME_NOREPLACE); err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(w.path("to/a"))
	if err != nil || st.Mode().Perm() != 0o750 || w.read("g") != "1" {
		t.Errorf("%v, %v", st, err)
	}
	if link, err := os.Readlink(w.path("to/link")); err != nil || link != "nowhere" {
		t.Errorf("%s, %v", link, err)
	}
	if _, err := os.Lstat(w.path("from")); !errors.Is(err, os.ErrNotExist) || len(w.leftovers()) > 0 {
		t.Errorf("%v; left: %v", err, w.leftovers())
	}
}

// TestWatch sees what is made in directories that are made while it watches.
func TestWatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("old", "")
	req := w.request(boxfiles.OpWatch, ".")
	req.Recursive = true
	begun, seen := make(chan struct{}), make(chan string, 100)
	ctx, cancel := context.WithCancel(w.ctx)
	ended := make(chan error, 1)
	go func() {
		ended <- boxfiles.Watch(ctx, w.dial(t), "watch", req, func() error { close(begun); return nil }, func(c boxfiles.Change) error {
			seen <- fmt.Sprintf("%s %s", c.Kind, c.Path)
			return nil
		})
	}()
	<-begun
	await := func(want string) {
		t.Helper()
		for got := range seen {
			if got == want {
				return
			}
		}
	}
	w.write("a/b/c", "x")
	await("created a/b/c")
	w.write("a/b/c", "y")
	await("changed a/b/c")
	if err := os.Rename(w.path("a"), w.path("z")); err != nil {
		t.Fatal(err)
	}
	await("created z")
	w.write("z/b/d", "x")
	await("created z/b/d")
	if err := os.Remove(w.path("old")); err != nil {
		t.Fatal(err)
	}
	await("removed old")
	cancel()
	if err := <-ended; err == nil {
		t.Error("it ended by itself")
	}
}

// TestWatchSaysThatItMissedSomething rather than to grow.
func TestWatchSaysThatItMissedSomething(t *testing.T) {
	t.Parallel()
	w := &watcher{seen: map[string]int{}}
	for n := range mostTold + 10 {
		w.note(fmt.Sprint(n), boxfiles.Created)
	}
	if !w.overflow || len(w.pending) != mostTold {
		t.Errorf("%d pending, overflow %v", len(w.pending), w.overflow)
	}
}
