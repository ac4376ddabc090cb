package land

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// TestSymlinksAreNeverFollowed: a symlink in the tree leads no write
// elsewhere, whatever is done below it.
func TestSymlinksAreNeverFollowed(t *testing.T) {
	w := newWorld(t, quickDir(t))
	outside := filepath.Join(w.store+"-outside", "dir")
	w.must(os.MkdirAll(outside, 0o755))
	w.must(os.WriteFile(outside+"/f", []byte("safe"), 0o644))
	w.must(os.Mkdir(outside+"/sub", 0o755))
	w.must(os.WriteFile(outside+"/sub/f", []byte("safe"), 0o644))
	w.must(os.Symlink(outside, w.at("/out")))
	w.must(os.Symlink("../../../../../..", w.at("/up")))
	before := w.snap()
	for _, it := range []Item{
		{Path: "/out/new", Op: Put, Node: w.node(0o644)},
		{Path: "/out/f", Op: Put, Node: w.node(0o644), Expect: w.seen("/out/f")},
		{Path: "/out/f", Op: Remove, Expect: w.seen("/out/f")},
		{Path: "/out/f", Op: Attr, Node: w.node(0o600), Expect: w.seen("/out/f")},
		{Path: "/moved", Op: Move, From: "/out/f", Expect: w.seen("/out/f")},
		// Not only as the last directory of a path.
		{Path: "/out/sub/new", Op: Put, Node: w.node(0o644)},
		{Path: "/out/sub/f", Op: Remove, Expect: w.seen("/out/sub/f")},
		{Path: "/out/sub/f", Op: Attr, Node: w.node(0o600), Expect: w.seen("/out/sub/f")},
		{Path: "/moved", Op: Move, From: "/out/sub", Expect: w.seen("/out/sub")},
		{Path: "/up/new", Op: Put, Node: w.node(0o644)},
	} {
		wantCode(t, w.land(it), forkbox.Conflict)
		w.same(it.Path, before)
		w.noTrace(it.Path)
	}
	if text, _ := os.ReadFile(outside + "/f"); string(text) != "safe" {
		t.Error("it was written to")
	}
	names, _ := os.ReadDir(outside)
	below, _ := os.ReadDir(outside + "/sub")
	if len(names) != 2 || len(below) != 1 {
		t.Error(names, below)
	}
}

// TestPathsThatMeanAnotherPlace are refused.
func TestPathsThatMeanAnotherPlace(t *testing.T) {
	w := newWorld(t, quickDir(t))
	for _, p := range []string{"", "a", "/../x", "/a/../b", "/a//b", "/a/", "/a/.", "/a\x00b", "/"} {
		wantCode(t, w.land(Item{Path: p, Op: Put, Node: w.node(0o644)}), forkbox.Invalid)
		w.noTrace(p)
	}
	for _, it := range []Item{
		{Path: "/a", Op: "frobnicate"}, {Path: "/a", Op: Remove}, {Path: "/a", Op: Attr}, {Path: "/a", Op: Move, From: "b"}, {Path: "/a", Op: Move, From: "/b"},
		{Path: "/a", Op: Put, Node: forkbox.Node{Mode: os.ModeIrregular}},
	} {
		wantCode(t, w.land(it), forkbox.Invalid)
		w.noTrace(it.Path)
	}
	wantCode(t, w.land(w.put("/b", ""), w.put("/a", "")), forkbox.Invalid)
	w.noTrace("order")
}

// TestPlantedStagingDirectory: whatever has the name of a staging directory
// is neither used nor removed.
func TestPlantedStagingDirectory(t *testing.T) {
	for name, plant := range map[string]func(p, outside string) error{
		"symlink": func(p, outside string) error { return os.Symlink(outside, p) },
		"dir":     func(p, _ string) error { return os.Mkdir(p, 0o777) },
		"file":    func(p, _ string) error { return os.WriteFile(p, nil, 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, quickDir(t))
			outside := w.store + "-outside"
			w.must(os.Mkdir(outside, 0o777))
			w.must(plant(w.at("/.forkbox-r1"), outside))
			before := w.snap()
			if err := w.land(w.put("/f", "x")); err == nil {
				t.Fatal("it was used")
			}
			w.same("refused", before)
			w.noTrace("refused")
			if names, _ := os.ReadDir(outside); len(names) > 0 {
				t.Error(names)
			}
		})
	}
}

// TestStagingDirectorySwapped: one that was replaced before a recovery is not
// touched.
func TestStagingDirectorySwapped(t *testing.T) {
	w := newWorld(t, quickDir(t))
	w.write("/f", "old")
	w.write("/precious/x", "precious")
	staging := w.at("/.forkbox-r1")
	w.crashBeforeDone(func() { w.must(w.land(w.put("/f", "new"))) })
	if _, err := os.Lstat(staging + "/1"); err != nil {
		t.Fatal("the old object is not where the test takes it from: ", err)
	}
	w.must(os.RemoveAll(staging))
	w.must(os.Rename(w.at("/precious"), staging))
	if o := w.recover(); o.State != Torn || len(o.Torn) != 1 || o.Torn[0].Path != "/f" {
		t.Error("what was kept is gone, and it says ", o)
	}
	if text, err := os.ReadFile(staging + "/x"); err != nil || string(text) != "precious" {
		t.Error(string(text), err)
	}
}

// TestGitDoesNotSeeTheStagingDirectory.
func TestGitDoesNotSeeTheStagingDirectory(t *testing.T) {
	w := newWorld(t, quickDir(t))
	l := stageAll(w, []Item{w.put("/f", "x")})
	if got := w.read("/.forkbox-r1/.gitignore"); got != "*\n" {
		t.Error(got)
	}
	if got := w.snap()["/.forkbox-r1"]; !strings.HasPrefix(got, "40700 ") {
		t.Error(got)
	}
	w.must(l.Abort())
	w.must(l.Abort())
	w.noTrace("aborted")
	if _, err := l.Stage(t.Context(), w.put("/f", "x")); err == nil {
		t.Error("an ended landing goes on")
	}
	if err := l.Commit(t.Context()); err == nil {
		t.Error("an ended landing is committed")
	}
}
