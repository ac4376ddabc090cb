package review

import (
	"io/fs"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

func dirNode(ctime, mtime int64) forkbox.Node {
	return forkbox.Node{Mode: fs.ModeDir | 0o755, Identity: forkbox.Identity{Ino: 3, Ctime: ctime}, ModTime: time.Unix(0, mtime)}
}

// lost is a directory /w/d that the box deleted or replaced.
func lost(t *testing.T, kind forkbox.Kind, below ...inside) *Entry {
	old := dirNode(before, before)
	s := &sides{t: t, old: &old, below: below}
	e := &Entry{Change: forkbox.Change{Path: "/w/d", Kind: kind, Type: "dir", OldMode: old.Mode}, Sides: s}
	if kind != forkbox.Deleted {
		s.new, s.newText, e.Type = file(0o644, before), "new", "file"
	}
	return e
}

func in(path string, n *forkbox.Node) inside { return inside{path: path, node: *n} }

func kept(path string) inside {
	return inside{path: path, node: forkbox.Node{Mode: fs.ModeDir}, kept: true}
}

func TestDeletedDirectories(t *testing.T) {
	old, new := file(0o644, before), file(0o644, after)
	addedTo, movedHere := dirNode(after, after), dirNode(after, before)
	dir := dirNode(before, before)
	for _, c := range []struct {
		name   string
		below  []inside
		choice forkbox.ConflictChoice
		want   string
	}{
		{"empty", nil, "", "remove /w/d"},
		{"with files", []inside{in("/w/d/a", old), in("/w/d/b", old)}, "", "remove /w/d"},
		{"reality changed one", []inside{in("/w/d/a", old), in("/w/d/b", new)}, "", "conflict at /w/d"},
		{"reality changed one, theirs", []inside{in("/w/d/b", new)}, forkbox.Theirs, "remove /w/d"},
		{"reality changed one, ours", []inside{in("/w/d/b", new)}, forkbox.Ours, "left"},
		{"reality deleted a file in it", []inside{in("/w/d/sub", &addedTo)}, "", "remove /w/d"},
		// Its files keep their times when a directory is moved.
		{"reality moved a directory into it", []inside{in("/w/d/sub", &movedHere), in("/w/d/sub/thesis", old)}, "", "conflict at /w/d"},
		{"with a secret", []inside{in("/w/d/a", old), kept("/w/d/k"), in("/w/d/z", old)}, "", "remove /w/d/a, remove /w/d/z"},
		{"with a secret deeper", []inside{in("/w/d/s", &dir), in("/w/d/s/a", old), kept("/w/d/s/k"), in("/w/d/t", &dir), in("/w/d/t/u", &dir), in("/w/d/t/u/v", old), in("/w/d/t-u", old)},
			"", "remove /w/d/s/a, remove /w/d/t, remove /w/d/t-u"},
		{"with nothing but a secret", []inside{kept("/w/d/k")}, "", "nothing"},
		{"with a secret, and changed", []inside{in("/w/d/a", new), kept("/w/d/k")}, "", "conflict at /w/d"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, _, _ := planned(t, newView(nil), forkbox.ApplySpec{Conflict: c.choice}, lost(t, forkbox.Deleted, c.below...))
			if got != c.want {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestReplacedDirectories(t *testing.T) {
	old, new := file(0o644, before), file(0o644, after)
	put := `put /w/d -rw-r--r-- "new"`
	for _, c := range []struct {
		name   string
		below  []inside
		choice forkbox.ConflictChoice
		want   string
	}{
		{"by a file", []inside{in("/w/d/a", old)}, "", put},
		{"and reality changed something in it", []inside{in("/w/d/a", new)}, "", "conflict at /w/d"},
		{"theirs", []inside{in("/w/d/a", new)}, forkbox.Theirs, put},
		// The secret cannot go, so nothing else can be there, and then
		// nothing is deleted for it either.
		{"with a secret", []inside{in("/w/d/a", old), kept("/w/d/k")}, "", "conflict at /w/d"},
		{"with a secret, theirs", []inside{in("/w/d/a", old), kept("/w/d/k")}, forkbox.Theirs, "conflict at /w/d"},
		{"with a secret, ours", []inside{in("/w/d/a", old), kept("/w/d/k")}, forkbox.Ours, "left"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, _, _ := planned(t, newView(nil), forkbox.ApplySpec{Conflict: c.choice}, lost(t, forkbox.Type, c.below...))
			if got != c.want {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestADirectoryThatASyncLeftUndecided(t *testing.T) {
	v := newView(nil)
	v.Box.Unresolved = []string{"/w/d"}
	if got, _, _ := planned(t, v, forkbox.ApplySpec{}, lost(t, forkbox.Deleted)); got != "conflict at /w/d" {
		t.Error(got)
	}
	if got, _, _ := planned(t, v, forkbox.ApplySpec{Conflict: forkbox.Theirs}, lost(t, forkbox.Deleted)); got != "remove /w/d" {
		t.Error(got)
	}
}

func TestMovedDirectories(t *testing.T) {
	from := t.TempDir()
	moved := func(below ...inside) *Entry {
		old, new := dirNode(after, before), dirNode(before, before)
		new.Mode = fs.ModeDir | 0o700
		return &Entry{Change: forkbox.Change{Path: "/w/to", From: from, Kind: forkbox.Renamed, Type: "dir"},
			Sides: &sides{t: t, old: &old, new: &new, below: below}}
	}
	if got, _, _ := planned(t, newView(nil), forkbox.ApplySpec{}, moved(in("/w/to/a", file(0o644, after)))); got != "move "+from+" to /w/to" {
		t.Error("what reality did in it moves along:", got)
	}
	e := moved()
	e.Attrs = []string{"mode"}
	if got, _, _ := planned(t, newView(nil), forkbox.ApplySpec{}, e); got != "move "+from+" to /w/to, attr /w/to drwx------" {
		t.Error(got)
	}
	for choice, want := range map[forkbox.ConflictChoice]string{forkbox.Refuse: "conflict at /w/to", forkbox.Theirs: "conflict at /w/to", forkbox.Ours: "left"} {
		if got, _, _ := planned(t, newView(nil), forkbox.ApplySpec{Conflict: choice}, moved(kept("/w/to/.ssh"))); got != want {
			t.Errorf("%q: %s", choice, got)
		}
	}
}

// A directory that is landed only for what is in it is one item, with a tag.
func TestParents(t *testing.T) {
	n := dirNode(before, before)
	e := &Entry{Change: forkbox.Change{Path: "/w/d", Kind: forkbox.Added, Type: "dir"}, Sides: &sides{t: t, new: &n}}
	item, err := (&Plan{View: newView(nil)}).Parent(e)
	if err != nil || item.Path != "/w/d" || item.Expect != nil || !item.Node.Mode.IsDir() || len(item.Tag) == 0 {
		t.Errorf("%+v, %v", item, err)
	}
}
