//go:build linux

package main

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/layers"
)

// TestLayersGoWhenNothingNeedsThem forks and removes at random, and kills the
// daemon while it removes. A layer is there as long as a box, a snapshot or a
// template needs it, and no longer; every box has its files.
func TestLayersGoWhenNothingNeedsThem(t *testing.T) {
	t.Parallel()
	for _, seed := range seeds(t, 2) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			f := &forest{snapWorld: newSnapWorld(t, "overlay"), rng: rand.New(rand.NewPCG(seed, 4)), files: map[string][]string{}}
			defer func() {
				if t.Failed() {
					t.Logf("repeat with %s==%d; it did %q", seedsVar, seed, f.did)
				}
			}()
			f.grow("")
			for range snapSteps(8) {
				f.round()
			}
		})
	}
}

// forest is boxes that were forked from each other, and the files that each
// must have.
type forest struct {
	*snapWorld
	rng   *rand.Rand
	files map[string][]string
	n     int
	did   []string
}

// grow makes a box, a fork of another unless that is "", with a file more.
func (f *forest) grow(of string) {
	f.Helper()
	f.n++
	name := fmt.Sprint("tree-", f.n)
	f.did = append(f.did, "fork "+of+" "+name)
	if of == "" {
		f.create(name)
	} else {
		_, err := f.Fork(f.Context(), of, forkbox.ForkSpec{Name: name})
		f.ok(err)
	}
	f.sh(name, "echo >"+name)
	f.files[name] = append(append([]string{}, f.files[of]...), name)
}

func (f *forest) any() string {
	for name := range f.files { // the order of a map is not the seed's, which is fine here
		return name
	}
	return ""
}

func (f *forest) round() {
	f.Helper()
	for range 3 {
		f.grow(f.any())
	}
	if f.rng.IntN(2) == 0 {
		_, err := f.CreateTemplate(f.Context(), forkbox.TemplateSpec{Name: fmt.Sprint("t-", f.n), From: f.any()})
		f.ok(err)
	}
	done := make(chan struct{})
	var gone []string
	for name := range f.files {
		if len(gone) < 2 {
			gone = append(gone, name)
		}
	}
	f.did = append(f.did, fmt.Sprint("rm ", gone))
	go func() {
		defer close(done)
		for _, name := range gone {
			f.removeAll(name)
		}
	}()
	time.Sleep(time.Duration(f.rng.Int64N(int64(30 * time.Millisecond))))
	f.kill()
	<-done
	f.serve()
	f.check()
}

// removeAll removes a box or, for a change, all snapshots of it, and some
// template. The daemon may be killed meanwhile.
func (f *forest) removeAll(name string) {
	if templates, err := f.Templates(f.Context()); err == nil && len(templates) > 1 {
		_ = f.RemoveTemplate(f.Context(), templates[0].Name)
	}
	if len(name)%2 == 0 {
		list, _ := f.Snapshots(f.Context(), name)
		for _, s := range list {
			_ = f.RemoveSnapshot(f.Context(), name+"@"+s.Name, true)
		}
	}
	_ = f.Remove(f.Context(), name, true)
}

func (f *forest) check() {
	f.Helper()
	f.onlyNamedLayers("after a kill")
	boxes, err := f.Boxes(f.Context())
	f.ok(err)
	there := map[string]bool{}
	for _, b := range boxes {
		there[b.Name] = true
	}
	for name, files := range f.files {
		if !there[name] {
			delete(f.files, name)
			continue
		}
		got := f.look(name)
		for _, file := range files {
			if _, ok := got[file]; !ok {
				f.Fatalf("%s has lost %s: it has %v", name, file, got)
			}
		}
		if len(got) != len(files) {
			f.Fatalf("%s has %v, not %q", name, got, files)
		}
	}
	if len(f.files) == 0 {
		f.grow("")
	}
}

// TestSnapshotOfAnIdleBoxIsARename: whatever a box holds, a snapshot of it
// costs the same: the directory that it wrote to becomes the layer. Not a file
// is made or changed, and below its first directories nobody even looks.
func TestSnapshotOfAnIdleBoxIsARename(t *testing.T) {
	t.Parallel()
	for _, files := range []int{10, 20_000} {
		w := newSnapWorld(t, "overlay")
		box := w.create("box")
		w.sh("box", fmt.Sprintf("mkdir -p a/b/c && cd a/b/c && seq %d | split -l 1 -a 4 - f", files))
		_, err := w.Stop(w.Context(), "box", nil)
		w.ok(err)
		top := filepath.Join(w.home, "boxes", box.ID, "top")
		w.restart() // the daemon may be looking at what was changed, for other reasons
		w.neverListed(top)
		before := w.inodes(top)
		if len(before) < files {
			t.Fatalf("%d files became %d", files, len(before))
		}
		s, err := w.Snapshot(w.Context(), "box", forkbox.SnapshotSpec{})
		w.ok(err)
		if _, err := os.Lstat(top); err == nil {
			t.Error("the box has kept its directory")
		}
		layer := filepath.Join(w.home, "layers", s.Layers[0])
		same := w.inodes(layer)
		for path, was := range before {
			if is := same[path]; is != was && filepath.Base(path) != "." && !forkbox.Within(path, "work") {
				t.Fatalf("of %d files %q was %+v and is %+v", files, path, was, is)
			}
		}
		if same["."].ino != before["."].ino {
			t.Error("the layer is another directory")
		}
	}
}

// neverListed has directories called c look as if nobody had ever listed them,
// so that it shows when somebody does.
func (w *snapWorld) neverListed(top string) {
	w.Helper()
	w.ok(filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() || d.Name() != "c" {
			return err
		}
		if err := os.Chtimes(path, time.Unix(1, 0), time.Now()); err != nil {
			return err
		}
		return fs.SkipDir
	}))
}

// touched is how it would show that somebody wrote to a file, or listed a
// directory.
type touched struct {
	ino   uint64
	ctime unix.Timespec
	atime unix.Timespec
}

// inodes looks at everything below a directory without leaving a trace: it
// knows the times of a directory before it lists it.
func (w *snapWorld) inodes(root string) map[string]touched {
	w.Helper()
	all := map[string]touched{}
	var walk func(rel string)
	walk = func(rel string) {
		path := filepath.Join(root, rel)
		var st unix.Stat_t
		w.ok(unix.Lstat(path, &st))
		t := touched{ino: st.Ino, ctime: st.Ctim}
		if filepath.Base(rel) == "c" {
			t.atime = st.Atim
		}
		all[rel] = t
		if st.Mode&unix.S_IFMT != unix.S_IFDIR {
			return
		}
		entries, err := readQuietly(path)
		w.ok(err)
		for _, name := range entries {
			walk(filepath.Join(rel, name))
		}
	}
	walk(".")
	for rel, t := range all {
		if filepath.Dir(rel) == "." { // its parent is another now, and it is looked at
			t.ctime = unix.Timespec{}
			all[rel] = t
		}
	}
	return all
}

// readQuietly lists a directory and leaves its time of access alone.
func readQuietly(path string) ([]string, error) {
	fd, err := syscall.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOATIME, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	return f.Readdirnames(-1)
}

// TestForkInACopyingStoreSurvivesAKill: where a fork begins as a copy of a
// layer, the daemon may die when the copy is there and not written down. A
// directory of reality that the parent moved is still whole.
func TestForkInACopyingStoreSurvivesAKill(t *testing.T) {
	t.Parallel()
	w := newSnapWorld(t, "copy")
	w.ok(os.MkdirAll(filepath.Join(w.root, "old", "below"), 0o755))
	w.ok(os.WriteFile(filepath.Join(w.root, "old", "below", "file"), []byte("text"), 0o644))
	w.create("box")
	w.sh("box", "mv old new")
	f, err := w.Fork(w.Context(), "box", forkbox.ForkSpec{Name: "kid"})
	w.ok(err)
	want := w.look("box")
	kid := f.Children[0].Box
	w.kill()
	// What the daemon had got to when it was killed.
	store, err := layers.OpenWith(w.home, "copy")
	w.ok(err)
	w.ok(store.Clone(w.Context(), kid.Layers[0], kid.ID))
	w.serve()
	if diff := want.differs(w.look("kid")); diff != "" {
		t.Errorf("the fork is not as it should be:\n%s", diff)
	}
}
