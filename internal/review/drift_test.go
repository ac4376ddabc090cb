package review

import (
	"context"
	"io/fs"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

func TestDriftIsToldByInodeTimes(t *testing.T) {
	stamp := func(ns int64) time.Time { return time.Unix(0, ns) }
	dir := func(ctime, mtime int64) *forkbox.Node {
		return &forkbox.Node{Mode: fs.ModeDir | 0o755, Identity: forkbox.Identity{Ino: 7, Ctime: ctime}, ModTime: stamp(mtime)}
	}
	for _, c := range []struct {
		name   string
		change func(*View, *Entry)
		want   bool
	}{
		{"changed before", func(_ *View, e *Entry) { e.sides().old = file(0o644, fence.UnixNano()-1) }, false},
		{"changed at the fence", func(_ *View, e *Entry) { e.sides().old = file(0o644, fence.UnixNano()) }, true},
		{"changed after", func(_ *View, e *Entry) { e.sides().old = file(0o644, after) }, true},
		{"nothing there", func(_ *View, e *Entry) { e.sides().old = nil }, false},
		{"not reality", func(v *View, e *Entry) { v.Still, e.sides().old = true, file(0o644, after) }, false},
		{"hidden", func(_ *View, e *Entry) { e.Hidden, e.sides().old = true, file(0o644, after) }, false},
		{"a moved directory", func(_ *View, e *Entry) { e.Kind, e.From = forkbox.Renamed, t.TempDir() }, false},
		{"a moved directory that is gone", func(_ *View, e *Entry) { e.Kind, e.From = forkbox.Renamed, "/nowhere" }, true},
		{"a moved directory made since", func(v *View, e *Entry) {
			e.Kind, e.From, v.Box.Base.Fence = forkbox.Renamed, t.TempDir(), time.Unix(1, 0)
		}, true},
		{"landed by this box", func(v *View, e *Entry) {
			e.sides().old = file(0o644, after)
			v.Marks = marksOf(map[string]Mark{"/w/f": {Reality: e.sides().old.Identity}})
		}, false},
		{"landed by this box, and changed since", func(v *View, e *Entry) {
			e.sides().old = file(0o644, after+1)
			v.Marks = marksOf(map[string]Mark{"/w/f": {Reality: forkbox.Identity{Ino: 7, Ctime: after}}})
		}, true},
		{"landed by this box, and replaced since", func(v *View, e *Entry) {
			e.sides().old = file(0o644, after)
			v.Marks = marksOf(map[string]Mark{"/w/f": {Reality: forkbox.Identity{Ino: 8, Ctime: after}}})
		}, true},
		{"landed under another name of the file", func(v *View, e *Entry) {
			e.sides().old = file(0o644, after)
			v.Left = &Inodes{}
			v.Left.Add(e.sides().old.Identity)
		}, false},
		{"a file was added to a directory", func(_ *View, e *Entry) { e.Type, e.sides().old = "dir", dir(after, after) }, false},
		{"the mode of a directory changed", func(_ *View, e *Entry) { e.Type, e.sides().old = "dir", dir(after, before) }, true},
		{"a deleted directory was added to", func(_ *View, e *Entry) {
			e.Kind, e.Type, e.OldMode, e.sides().old = forkbox.Deleted, "dir", fs.ModeDir, dir(after, after)
		}, false},
		{"a file became a directory", func(_ *View, e *Entry) { e.Kind, e.Type, e.sides().old = forkbox.Type, "dir", file(0o644, after) }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, e := newView(nil), change(t, forkbox.Modified, "old", "new", before)
			c.change(v, e)
			if got := v.drifted(e); got != c.want {
				t.Errorf("drifted: %v", got)
			}
		})
	}
}

func TestWhatLandedWholeIsNoChange(t *testing.T) {
	id := forkbox.Identity{Ino: 8, Ctime: before}
	for _, c := range []struct {
		name string
		kind forkbox.Kind
		mark *Mark
		want bool
	}{
		{"never landed", forkbox.Modified, nil, false},
		{"all of it", forkbox.Modified, &Mark{Whole: true, Box: id}, true},
		{"some hunks", forkbox.Modified, &Mark{Box: id}, false},
		{"and the box went on", forkbox.Modified, &Mark{Whole: true, Box: forkbox.Identity{Ino: 8, Ctime: before - 1}}, false},
		{"and the box replaced it", forkbox.Modified, &Mark{Whole: true, Box: forkbox.Identity{Ino: 9, Ctime: before}}, false},
		{"a deletion", forkbox.Deleted, &Mark{Whole: true, Deleted: true, Landed: true}, true},
		{"a deletion, and the box made it again", forkbox.Added, &Mark{Whole: true, Deleted: true, Landed: true}, false},
		{"a file, and the box deleted it", forkbox.Deleted, &Mark{Whole: true, Box: id, Landed: true}, false},
		// A sync moved the fence past the landing and gave the box the file
		// that reality had made again: this is another deletion.
		{"a deletion before the last sync", forkbox.Deleted, &Mark{Whole: true, Deleted: true}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, e := newView(nil), change(t, c.kind, "old", "new", before)
			if c.mark != nil {
				v.Marks = marksOf(map[string]Mark{e.Path: *c.mark})
			}
			if got := v.Landed(e); got != c.want {
				t.Errorf("landed: %v", got)
			}
		})
	}
}

// knowing can say of files whether they were there.
type knowing struct {
	bases
	had map[string]bool
}

func (k knowing) Had(_ context.Context, path string) (bool, error) { return k.had[path], nil }

func TestDeletedSince(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		name   string
		change func(*View, *Entry)
		want   bool
	}{
		{"new", func(*View, *Entry) {}, false},
		{"a copy of something", func(_ *View, e *Entry) { e.sides().copied = true }, true},
		{"written anew, and git knows of one", func(v *View, e *Entry) {
			v.Box.Base.Fence = time.Unix(0, 0)
			v.Ancestors = knowing{had: map[string]bool{e.Path: true}}
		}, true},
		{"git knows of one, and nothing was taken from the directory", func(v *View, e *Entry) {
			v.Ancestors = knowing{had: map[string]bool{e.Path: true}}
		}, false},
		{"hidden", func(_ *View, e *Entry) { e.Hidden, e.sides().copied = true, true }, false},
		{"not reality", func(v *View, e *Entry) { v.Still, e.sides().copied = true, true }, false},
		{"an undo took it away", func(v *View, e *Entry) {
			e.sides().copied = true
			v.Marks = marksOf(map[string]Mark{e.Path: {Nothing: true}})
		}, false},
		{"no addition", func(_ *View, e *Entry) { e.Kind, e.sides().copied = forkbox.Modified, true }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, e := newView(nil), change(t, forkbox.Added, "-", "new", before)
			e.Path = dir + "/f"
			c.change(v, e)
			if got, err := v.deletedSince(t.Context(), e); got != c.want || err != nil {
				t.Errorf("deleted: %v, %v", got, err)
			}
		})
	}
}
