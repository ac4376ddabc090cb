//go:build linux

package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
)

// TestSnapshotOfAnIdleBoxIsARename: whatever a box holds, a snapshot of it
// costs the same: the directory that it wrote to becomes the layer. Not a file
// is made or changed, and below its first directories the daemon does not even
// look.
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
			if is := same[path]; is != was && path != "." {
				t.Fatalf("of %d files %q was %+v and is %+v", files, path, was, is)
			}
		}
		if same["."].ino != before["."].ino {
			t.Error("the layer is another directory")
		}
	}
}

// neverListed has directories called c look as if they had never been listed, so
// that it shows when they are.
func (w *snapWorld) neverListed(top string) {
	w.Helper()
	w.ok(filepath.WalkDir(filepath.Join(top, "upper"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() || d.Name() != "c" {
			return err
		}
		if err := os.Chtimes(path, time.Unix(1, 0), time.Now()); err != nil {
			return err
		}
		return fs.SkipDir
	}))
}

// touched is how it would show that a file was written to, or a directory listed.
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
			if rel != "." || name != "work" { // overlayfs's own, which a layer does not need
				walk(filepath.Join(rel, name))
			}
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
