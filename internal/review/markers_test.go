package review

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

const synced = "1\n<<<<<<< box\nbox\n=======\nreality\n>>>>>>> reality\n3\n"

// A file with the markers of a sync lands where its owner asks for just that,
// whatever the box's record says.
func TestMarkersOfASyncDoNotLand(t *testing.T) {
	named := forkbox.Selection{Paths: forkbox.Strings{"/w/f"}}
	below := forkbox.Selection{Paths: forkbox.Strings{"/w"}}
	lands, refused := `put /w/f -rw-r--r-- `+quote(synced), "conflict at /w/f"
	for _, c := range []struct {
		name    string
		spec    forkbox.ApplySpec
		open    string // with a record that it is undecided
		without string // without one
	}{
		{"plain", forkbox.ApplySpec{}, refused, refused},
		{"confirmed", forkbox.ApplySpec{Yes: true}, refused, refused},
		{"below what is named", forkbox.ApplySpec{Selection: below, Yes: true}, refused, refused},
		{"named", forkbox.ApplySpec{Selection: named}, refused, refused},
		{"named and confirmed", forkbox.ApplySpec{Selection: named, Yes: true}, refused, lands},
		{"theirs", forkbox.ApplySpec{Conflict: forkbox.Theirs}, refused, refused},
		{"theirs, confirmed", forkbox.ApplySpec{Conflict: forkbox.Theirs, Yes: true}, refused, refused},
		{"theirs, named", forkbox.ApplySpec{Selection: named, Conflict: forkbox.Theirs}, refused, refused},
		{"theirs, named and confirmed", forkbox.ApplySpec{Selection: named, Conflict: forkbox.Theirs, Yes: true}, lands, lands},
		{"ours", forkbox.ApplySpec{Conflict: forkbox.Ours}, "left", "left"},
		{"markers", forkbox.ApplySpec{Conflict: forkbox.Markers}, lands, lands},
	} {
		for want, list := range map[*string]forkbox.Strings{&c.open: {"/w/f"}, &c.without: nil} {
			v := newView(nil)
			v.Box.Name, v.Box.Unresolved = "try", list
			got, p, _ := planned(t, v, c.spec, change(t, forkbox.Modified, "1\nreality\n3\n", synced, before))
			if got != *want {
				t.Errorf("%s, undecided %v: got %s, want %s", c.name, list, got, *want)
			}
			if c.spec.Conflict == forkbox.Theirs && len(p.Conflicts) > 0 && !strings.Contains(p.Conflicts[0].Why, `try "/w/f"`) {
				t.Errorf("%s: no way out: %s", c.name, p.Conflicts[0].Why)
			}
		}
	}
}

// What would land is looked at, not what the box has.
func TestOnlyMarkersThatWouldLandHoldAFileBack(t *testing.T) {
	conflict := func(p *Plan) bool { return p.Marked > 0 }
	for _, c := range []struct {
		name           string
		kind           forkbox.Kind
		reality, inBox string
		ctime          int64
		base           bases
		held           bool
	}{
		{"renamed in the box", forkbox.Added, "-", synced, 0, unknown, true},
		{"reality has them", forkbox.Modified, synced, synced + "more\n", before, unknown, false},
		{"reality has another", forkbox.Modified, strings.ReplaceAll(synced, "3", "4") + "<<<<<<< box\nx\n=======\ny\n>>>>>>> reality\n", synced + "<<<<<<< box\nz\n=======\ny\n>>>>>>> reality\n", before, unknown, true},
		{"git's", forkbox.Modified, lines, strings.ReplaceAll(synced, "< box", "< HEAD"), before, unknown, false},
		{"binary", forkbox.Modified, lines, "\x00\n" + synced, before, unknown, false},
		{"late in a long file", forkbox.Added, "-", strings.Repeat("line\n", 200_000) + synced, 0, unknown, true},
		{"merged with what reality did", forkbox.Modified, "1\nreality\n3\n\n\n\n\n9\n10\n", synced + "\n\n\n\n9\n", after, bases{"/w/f": {text: "1\nreality\n3\n\n\n\n\n9\n", mode: 0o644}}, true},
		{"deleted", forkbox.Deleted, synced, "-", before, unknown, false},
	} {
		_, p, _ := planned(t, newView(c.base), forkbox.ApplySpec{}, change(t, c.kind, c.reality, c.inBox, c.ctime))
		if conflict(p) != c.held {
			t.Errorf("%s: %v", c.name, p.Conflicts)
		}
	}
}

// Some hunks of a file that has markers elsewhere are not those.
func TestHunksWithoutMarkersLand(t *testing.T) {
	for hunk, want := range map[int]string{1: "conflict at /w/f", 2: `put /w/f -rw-r--r-- "1\nreality\n3\n\n\n\n\n\n\n\n\nbox\n", partial`} {
		spec := forkbox.ApplySpec{Hunks: []forkbox.HunkSelection{{Path: "/w/f", Hunks: []int{hunk}}}}
		e := change(t, forkbox.Modified, "1\nreality\n3\n\n\n\n\n\n\n\n\n9\n", synced+"\n\n\n\n\n\n\n\nbox\n", before)
		if got, _, _ := planned(t, newView(nil), spec, e); got != want {
			t.Errorf("hunk %d: got %s", hunk, got)
		}
	}
}

// Where a word lies across the pieces that a file is read in, it is found.
func TestContainsFindsAWordAnywhere(t *testing.T) {
	const word = "<<<<<<< box"
	for _, at := range []int{0, 1, 4000, 64<<10 - 20, 64<<10 - 5, 64 << 10, 128<<10 - 17, 200_000} {
		text := strings.Repeat("x", at) + word
		has, err := contains(strings.NewReader(text), int64(len(text)), []byte(word))
		if err != nil || !has {
			t.Errorf("at %d: %v, %v", at, has, err)
		}
		text = text[:len(text)-1]
		if has, err = contains(strings.NewReader(text), int64(len(text)), []byte(word)); err != nil || has {
			t.Errorf("at %d, cut: %v, %v", at, has, err)
		}
	}
}

// What reality deleted stays undecided, also when the fence has moved on.
func TestDeletedByRealityStaysUndecided(t *testing.T) {
	for choice, want := range map[forkbox.ConflictChoice]string{
		forkbox.Refuse: "conflict at /w/f", forkbox.Ours: "left", forkbox.Theirs: `put /w/f -rw-r--r-- "new"`,
	} {
		v := newView(nil)
		v.Box.Unresolved = []string{"/w/f"}
		e := change(t, forkbox.Added, "-", "new", 0)
		if got, _, _ := planned(t, v, forkbox.ApplySpec{Conflict: choice}, e); got != want {
			t.Errorf("%q: got %s, want %s", choice, got, want)
		}
		if u, err := v.Update(t.Context(), e); err != nil || u == nil || u.Conflict == "" {
			t.Errorf("a second sync takes it for decided: %+v, %v", u, err)
		}
	}
}

// A sync nests no markers in those that another box's sync left, of which this
// box has no record.
func TestSyncAgainWithoutARecordNestsNoMarkers(t *testing.T) {
	for name, known := range map[string]bases{"base unknown": unknown, "base known": {"/w/f": {text: "1\nreality\n3\n", mode: 0o644}}} {
		v := newView(known)
		e := change(t, forkbox.Modified, "1\nreality again\n3\n", synced, after)
		e.Drifted = true
		u, err := v.Update(t.Context(), e)
		if err != nil || u == nil || u.Conflict == "" || len(u.Items) != 1 {
			t.Fatalf("%s: %+v, %v", name, u, err)
		}
		if got, want := string(u.Items[0].Bytes), strings.Replace(synced, "\nreality\n", "\nreality again\n", 1); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// What the box has in a directory that reality deleted stays or lands with it.
func TestADirectoryInConflictKeepsWhatIsInIt(t *testing.T) {
	for choice, want := range map[forkbox.ConflictChoice]string{
		forkbox.Refuse:  "conflict at /w/d, left",
		forkbox.Markers: "conflict at /w/d, left",
		forkbox.Ours:    "left",
		forkbox.Theirs:  `put /w/d/f -rw-r--r-- "new"`,
	} {
		v := newView(nil)
		spec := forkbox.ApplySpec{Conflict: choice}
		p := &Plan{View: v, Spec: spec, Chosen: Choose(spec.Selection, nil, newSorter(nil))}
		dir := change(t, forkbox.Added, "-", "-", 0)
		dir.Path, dir.Type = "/w/d", "dir"
		dir.sides().new, dir.sides().copied = file(fs.ModeDir|0o755, before), true
		if _, err := p.Next(t.Context(), dir); err != nil {
			t.Fatal(err)
		}
		inside := change(t, forkbox.Added, "-", "new", 0)
		inside.Path = "/w/d/f"
		step, err := p.Next(t.Context(), inside)
		if err != nil {
			t.Fatal(err)
		}
		if got := words(t, p, step); got != want {
			t.Errorf("%q: got %s, want %s", choice, got, want)
		}
		after := change(t, forkbox.Added, "-", "new", 0)
		if step, err = p.Next(t.Context(), after); err != nil || len(step.Items) != 1 {
			t.Errorf("%q: what follows does not land: %v, %v", choice, step, err)
		}
	}
}
