package land

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

func needRoot(t testing.TB, why string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: " + why)
	}
}

// mountAt mounts something until the test ends.
func mountAt(t testing.TB, kind, dir, options string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount(kind, dir, kind, 0, options); err != nil {
		t.Fatalf("mount %s with %s: %v", kind, options, err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

// overlayWorld has a tree on an overlay whose directories cannot be renamed,
// and whose files get other inode numbers when they are.
func overlayWorld(t *testing.T, dir string, options string) *world {
	lower := newWorld(t, filepath.Join(t.TempDir(), "lower"))
	lower.furnish()
	t.Cleanup(func() { wipe(filepath.Dir(lower.root)) })
	return overlayOn(t, lower.root, dir, options)
}

func overlayOn(t *testing.T, lower, dir, options string) *world {
	w := &world{TB: t, root: filepath.Join(dir, "merged"), store: filepath.Join(dir, "store"), overlay: true}
	for _, name := range []string{"upper", "work", "store"} {
		w.must(os.MkdirAll(filepath.Join(dir, name), 0o755))
	}
	mountAt(t, "overlay", w.root, fmt.Sprintf("lowerdir=%s,upperdir=%s/upper,workdir=%s/work,%s", lower, dir, dir, options))
	w.openRoot()
	return w
}

var overlayOptions = []string{"redirect_dir=off,xino=off,index=off", "redirect_dir=on,metacopy=off"}

func TestOverlayEverythingLandsAndIsUndone(t *testing.T) {
	needRoot(t, "mounts an overlay")
	for i, options := range overlayOptions {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			w := overlayWorld(t, quickDir(t), options)
			before := w.snap()
			w.must(w.land(w.everything()...))
			plain := newWorld(t, quickDir(t))
			plain.overlay = true
			plain.furnish()
			plain.must(plain.land(plain.everything()...))
			w.sameButTimes(plain.snap())
			w.must(w.undo())
			w.same("undone", before)
		})
	}
}

// sameButTimes compares with a tree that was made at another time.
func (w *world) sameButTimes(want map[string]string) {
	w.Helper()
	times := regexp.MustCompile(` mtime=\d+`)
	timeless := func(m map[string]string) map[string]string {
		out := map[string]string{}
		for p, text := range m {
			out[p] = times.ReplaceAllString(text, "")
		}
		return out
	}
	if diff := differences(timeless(w.snap()), timeless(want)); diff != "" {
		w.Fatal(diff)
	}
}

func TestOverlayCrashAtEveryStep(t *testing.T) {
	needRoot(t, "mounts an overlay")
	states := map[State]int{}
	for n := 1; ; n++ {
		reached := true
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			w := overlayWorld(t, quickDir(t), overlayOptions[0])
			before := w.snap()
			if reached = crashAt(n, func() { w.must(w.tryLand(w.everything())) }); !reached {
				return
			}
			for again := n%7 + 1; crashAt(again, func() { w.recover() }); again += 7 {
			}
			o := w.recover()
			states[o.State]++
			if o.State == Before {
				w.same("recovered", before)
				w.noTrace("recovered")
				return
			}
			w.must(w.undo())
			w.must(Expire(t.Context(), w.cfg()))
			w.same("undone", before)
		})
		if !reached || t.Failed() {
			break
		}
	}
	if states[Before] == 0 || states[After] == 0 || len(states) != 2 {
		t.Error(states)
	}
}

func TestOverlayUndoCrashesAtEveryStep(t *testing.T) {
	needRoot(t, "mounts an overlay")
	for n := 1; ; n++ {
		reached := true
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			w := overlayWorld(t, quickDir(t), overlayOptions[0])
			before := w.snap()
			w.must(w.land(w.everything()...))
			if reached = crashAt(n, func() { w.must(w.undo()) }); !reached {
				return
			}
			for again := n%7 + 1; crashAt(again, func() { w.recover() }); again += 7 {
			}
			if o := w.recover(); o.State == After {
				w.must(w.undo())
			} else if o.State != Undone {
				t.Fatal(o)
			}
			w.must(Expire(t.Context(), w.cfg()))
			w.same("undone", before)
		})
		if !reached || t.Failed() {
			return
		}
	}
}

// TestSeveralFilesystems: a mount inside the tree has its own staging
// directory, and a store elsewhere leaves what is kept beside the targets.
func TestSeveralFilesystems(t *testing.T) {
	needRoot(t, "mounts a tmpfs")
	w := newWorld(t, t.TempDir())
	mountAt(t, "tmpfs", w.at("/mnt"), "size=10m")
	mountAt(t, "tmpfs", w.store, "size=10m")
	w.write("/a", "old a")
	w.write("/mnt/sub/b", "old b")
	before := w.snap()
	w.must(w.land(w.put("/a", "new a"), w.putDir("/mnt/d", 0o755), w.put("/mnt/d/x", "new"), w.put("/mnt/sub/b", "new b")))
	for _, p := range []string{"/.forkbox-r1", "/mnt/.forkbox-r1"} {
		if _, err := os.Lstat(w.at(p)); err != nil {
			t.Error(err)
		}
	}
	if w.read("/a")+w.read("/mnt/sub/b")+w.read("/mnt/d/x") != "new anew bnew" {
		t.Error("did not land")
	}
	if n, err := Kept(w.cfg().Dir); err != nil || n == 0 {
		t.Error(n, err)
	}
	w.must(w.undo())
	w.must(Expire(t.Context(), w.cfg()))
	w.same("undone and expired", before)
	if n, err := Kept(w.cfg().Dir); err != nil || n != 0 {
		t.Error(n, err)
	}
}

// TestFullDisk: a landing that does not fit has not happened.
func TestFullDisk(t *testing.T) {
	needRoot(t, "mounts a small tmpfs")
	w := newWorld(t, t.TempDir())
	mountAt(t, "tmpfs", w.at("/small"), "size=256k")
	w.write("/small/old", "old")
	w.write("/other", "old")
	before := w.snap()
	err := w.land(w.put("/other", "new"), w.put("/small/a", strings.Repeat("x", 100<<10)), w.put("/small/b", strings.Repeat("y", 300<<10)))
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
	w.same("full", before)
	w.noTrace("full")
}

// TestFullStore: so is one whose journal does not fit.
func TestFullStore(t *testing.T) {
	needRoot(t, "mounts a small tmpfs")
	w := newWorld(t, t.TempDir())
	mountAt(t, "tmpfs", w.store, "size=64k")
	before := w.snap()
	var items []Item
	for i := range 1000 {
		it := w.put(fmt.Sprintf("/%04d", i), "x")
		it.Tag = []byte(`"` + strings.Repeat("t", 200) + `"`)
		items = append(items, it)
	}
	if err := w.land(items...); !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
	w.same("full", before)
	w.noTrace("full")
}

func TestReadOnlyFilesystem(t *testing.T) {
	needRoot(t, "mounts a tmpfs")
	w := newWorld(t, t.TempDir())
	mountAt(t, "tmpfs", w.at("/ro"), "size=1m")
	w.write("/ro/x", "old")
	w.must(unix.Mount("", w.at("/ro"), "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	before := w.snap()
	wantCode(t, w.land(w.put("/a", "new"), w.put("/ro/x", "new")), forkbox.Denied)
	w.same("read-only", before)
	w.noTrace("read-only")
}
