package review

import (
	"io/fs"
	"testing"

	"github.com/forkbox/forkbox"
)

// The lines that merges are made of: reality and the box change different
// ones, or the same.
const (
	lines    = "1\n2\n3\n4\n5\n6\n7\n8\n9\n"
	boxs     = "1\n2\n3\n4\n5\n6\n7\n8\nbox\n"
	realitys = "reality\n2\n3\n4\n5\n6\n7\n8\n9\n"
	both     = "reality\n2\n3\n4\n5\n6\n7\n8\nbox\n"
	clash    = "1\n2\n3\n4\n5\n6\n7\n8\nreality\n"
)

// known are the ways to know what a file was at the fence.
var (
	unknown = bases{}
	wasSo   = bases{"/w/f": {text: lines, mode: 0o644}}
	absent  = bases{"/w/f": {absent: true}}
)

func TestWhatLands(t *testing.T) {
	put := func(text string) string { return `put /w/f -rw-r--r-- ` + quote(text) }
	marked := "<<<<<<< reality\nreality\n=======\nbox\n>>>>>>> box\n"
	for _, c := range []struct {
		name           string
		kind           forkbox.Kind
		reality, inBox string
		ctime          int64
		base           bases
		choice         forkbox.ConflictChoice
		want           string
	}{
		{"added", forkbox.Added, "-", boxs, 0, unknown, "", put(boxs)},
		{"modified", forkbox.Modified, lines, boxs, before, unknown, "", put(boxs)},
		{"deleted", forkbox.Deleted, lines, "-", before, unknown, "", "remove /w/f"},
		{"deleted by both", forkbox.Deleted, "-", "-", 0, unknown, "", "nothing"},
		{"mode", forkbox.Mode, lines, lines, before, unknown, "", "attr /w/f -rw-r--r--"},
		{"modified, and gone while we looked", forkbox.Modified, "-", boxs, 0, unknown, "", put(boxs)},

		{"merges", forkbox.Modified, realitys, boxs, after, wasSo, "", put(both) + ", merged"},
		{"merges whatever the choice", forkbox.Modified, realitys, boxs, after, wasSo, forkbox.Theirs, put(both) + ", merged"},
		{"touched by reality", forkbox.Modified, lines, boxs, after, wasSo, "", put(boxs)},
		{"only reality changed it", forkbox.Modified, realitys, lines, after, wasSo, "", "nothing"},
		{"reality has the box's lines and more", forkbox.Modified, both, boxs, after, wasSo, "", "nothing"},

		{"same lines", forkbox.Modified, clash, boxs, after, wasSo, "", "conflict at /w/f"},
		{"same lines, theirs", forkbox.Modified, clash, boxs, after, wasSo, forkbox.Theirs, put(boxs)},
		{"same lines, ours", forkbox.Modified, clash, boxs, after, wasSo, forkbox.Ours, "left"},
		{"same lines, markers", forkbox.Modified, clash, boxs, after, wasSo, forkbox.Markers, put("1\n2\n3\n4\n5\n6\n7\n8\n"+marked) + ", merged"},

		{"base unknown", forkbox.Modified, realitys, boxs, after, unknown, "", "conflict at /w/f"},
		{"base unknown, theirs", forkbox.Modified, realitys, boxs, after, unknown, forkbox.Theirs, put(boxs)},
		{"base unknown, ours", forkbox.Modified, realitys, boxs, after, unknown, forkbox.Ours, "left"},
		{"base unknown, markers", forkbox.Modified, clash, boxs, after, unknown, forkbox.Markers, put("1\n2\n3\n4\n5\n6\n7\n8\n"+marked) + ", merged"},
		{"made by both", forkbox.Modified, realitys, boxs, after, absent, "", "conflict at /w/f"},

		{"binary", forkbox.Modified, "a\x00b", "a\x00c", after, bases{"/w/f": {text: "a\x00", mode: 0o644}}, "", "conflict at /w/f"},
		{"binary, markers", forkbox.Modified, "a\x00b", "a\x00c", after, bases{"/w/f": {text: "a\x00", mode: 0o644}}, forkbox.Markers, "conflict at /w/f"},
		{"binary, touched by reality", forkbox.Modified, "a\x00b", "a\x00c", after, bases{"/w/f": {text: "a\x00b", mode: 0o644}}, "", put("a\x00c")},

		{"deleted, and changed by reality", forkbox.Deleted, realitys, "-", after, wasSo, "", "conflict at /w/f"},
		{"deleted, and touched by reality", forkbox.Deleted, lines, "-", after, wasSo, "", "remove /w/f"},
		{"deleted, and perhaps changed by reality", forkbox.Deleted, lines, "-", after, unknown, "", "conflict at /w/f"},
		{"deleted, theirs", forkbox.Deleted, realitys, "-", after, wasSo, forkbox.Theirs, "remove /w/f"},
		{"deleted, ours", forkbox.Deleted, realitys, "-", after, wasSo, forkbox.Ours, "left"},
		{"deleted, markers", forkbox.Deleted, realitys, "-", after, wasSo, forkbox.Markers, "conflict at /w/f"},

		{"type, and changed by reality", forkbox.Type, realitys, boxs, after, unknown, "", "conflict at /w/f"},
		{"type, and touched by reality", forkbox.Type, lines, boxs, after, wasSo, "", put(boxs)},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := change(t, c.kind, c.reality, c.inBox, c.ctime)
			got, _, step := planned(t, newView(c.base), forkbox.ApplySpec{Conflict: c.choice}, e)
			if got != c.want {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
			checkExpectation(t, e, step)
		})
	}
}

// checkExpectation: nothing lands on what reality did not have when it was
// looked at.
func checkExpectation(t *testing.T, e *Entry, step Step) {
	t.Helper()
	for _, item := range step.Items {
		old := e.sides().old
		if (item.Expect == nil) != (old == nil) || old != nil && *item.Expect != old.Identity {
			t.Errorf("%s of %s expects %+v", item.Op, item.Path, item.Expect)
		}
		if len(item.Tag) == 0 {
			t.Error("it will not be known whose it is")
		}
	}
}

func TestReallyDeletedSinceTheForkIsAConflict(t *testing.T) {
	for choice, want := range map[forkbox.ConflictChoice]string{
		forkbox.Refuse: "conflict at /w/f", forkbox.Markers: "conflict at /w/f",
		forkbox.Ours: "left", forkbox.Theirs: `put /w/f -rw-r--r-- "new"`,
	} {
		e := change(t, forkbox.Added, "-", "new", 0)
		e.sides().copied = true
		if got, _, _ := planned(t, newView(nil), forkbox.ApplySpec{Conflict: choice}, e); got != want {
			t.Errorf("%q: got %s, want %s", choice, got, want)
		}
	}
}

// Promise 4 for attributes: git remembers one bit of a mode, and nothing
// remembers the rest. A file that reality closed to others is never opened by a
// guess.
func TestAttributesThatRealityChangedAreNotReverted(t *testing.T) {
	git := func(mode fs.FileMode) bases { return bases{"/w/f": {text: lines, mode: mode}} }
	for _, c := range []struct {
		name           string
		kind           forkbox.Kind
		reality, inBox fs.FileMode
		base           bases
		attrs          []string
		want           string
	}{
		{"the box made it a program", forkbox.Mode, 0o644, 0o755, git(0o644), []string{"mode"}, "attr /w/f -rwxr-xr-x"},
		{"with a umask that git does not know", forkbox.Mode, 0o664, 0o775, git(0o644), []string{"mode"}, "attr /w/f -rwxrwxr-x"},
		{"reality closed it", forkbox.Mode, 0o600, 0o644, git(0o644), []string{"mode"}, "nothing"},
		{"the box closed it", forkbox.Mode, 0o644, 0o600, git(0o644), []string{"mode"}, "attr /w/f -rw-------"},
		{"one of them closed it", forkbox.Mode, 0o660, 0o664, git(0o644), []string{"mode"}, "conflict at /w/f"},
		{"reality closed it, the box made it a program", forkbox.Mode, 0o600, 0o755, git(0o644), []string{"mode"}, "conflict at /w/f"},
		{"unknown", forkbox.Mode, 0o644, 0o755, unknown, []string{"mode"}, "conflict at /w/f"},
		{"owner", forkbox.Mode, 0o644, 0o644, git(0o644), []string{"owner"}, "conflict at /w/f"},
		{"xattr", forkbox.Mode, 0o644, 0o644, git(0o644), []string{"xattr"}, "conflict at /w/f"},

		{"merged, the box made it a program", forkbox.Modified, 0o644, 0o755, git(0o644), []string{"mode"}, `put /w/f -rwxr-xr-x ` + quote(both) + `, merged`},
		{"merged, reality made it a program", forkbox.Modified, 0o755, 0o644, git(0o644), []string{"mode"}, `put /w/f -rwxr-xr-x ` + quote(both) + `, merged`},
		{"merged, with a umask", forkbox.Modified, 0o664, 0o664, git(0o644), nil, `put /w/f -rw-rw-r-- ` + quote(both) + `, merged`},
		{"merged, reality closed it", forkbox.Modified, 0o600, 0o644, git(0o644), []string{"mode"}, `put /w/f -rw------- ` + quote(both) + `, merged`},
		{"merged, the box closed it", forkbox.Modified, 0o644, 0o600, git(0o644), []string{"mode"}, `put /w/f -rw------- ` + quote(both) + `, merged`},
		{"merged, one of them closed it", forkbox.Modified, 0o660, 0o664, git(0o644), []string{"mode"}, "conflict at /w/f"},
		{"merged, owner", forkbox.Modified, 0o644, 0o644, git(0o644), []string{"mode", "owner"}, "conflict at /w/f"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := change(t, c.kind, realitys, boxs, after)
			if c.kind == forkbox.Mode {
				e = change(t, c.kind, lines, lines, after)
			}
			e.sides().old.Mode, e.sides().new.Mode, e.Attrs = c.reality, c.inBox, c.attrs
			if got, _, _ := planned(t, newView(c.base), forkbox.ApplySpec{}, e); got != c.want {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
		})
	}
}

// The box only made it a program, reality only wrote to it.
func TestAModeChangeLandsOnWhatRealityWrote(t *testing.T) {
	e := change(t, forkbox.Modified, realitys, lines, after)
	e.sides().new.Mode, e.Attrs = 0o600, []string{"mode"}
	want := `put /w/f -rw------- ` + quote(realitys) + `, merged`
	if got, _, _ := planned(t, newView(wasSo), forkbox.ApplySpec{}, e); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestSameMode(t *testing.T) {
	for _, c := range []struct {
		base, mode fs.FileMode
		want       bool
	}{
		{0o644, 0o644, true}, {0o644, 0o664, true}, {0o644, 0o600, true}, {0o644, 0o755, false}, {0o644, 0o100, false},
		{0o755, 0o755, true}, {0o755, 0o700, true}, {0o755, 0o644, false}, {0o600, 0o600, true}, {0o600, 0o644, false},
		{0o644, fs.ModeSymlink | 0o777, false}, {fs.ModeSymlink | 0o777, fs.ModeSymlink | 0o777, true},
	} {
		if got := sameMode(c.base, c.mode); got != c.want {
			t.Errorf("%v and %v: %v", c.base, c.mode, got)
		}
	}
}

// What the box was not shown lands only when it is named.
func TestHiddenPathsLandOnlyWhenNamed(t *testing.T) {
	for path, want := range map[string]string{"/w": "left", "/w/f": `put /w/f -rw-r--r-- "new"`} {
		e := change(t, forkbox.Added, "-", "new", 0)
		e.Hidden = true
		got, p, _ := planned(t, newView(nil), forkbox.ApplySpec{Selection: forkbox.Selection{Paths: []string{path}}}, e)
		if got != want || want != "left" && len(p.Cautions) == 0 {
			t.Errorf("%s: %s with cautions %v", path, got, p.Cautions)
		}
	}
}

func TestCautionsAreCollected(t *testing.T) {
	e := change(t, forkbox.Modified, "old", "new", before)
	e.Path = "/w/.git/hooks/pre-commit"
	e.sides().new.Mode |= fs.ModeSetuid
	_, p, _ := planned(t, newView(nil), forkbox.ApplySpec{}, e)
	if len(p.Cautions) < 2 || p.Cautions[0].Path != e.Path {
		t.Errorf("%v", p.Cautions)
	}
}

// A sync left a path undecided: it does not land before the owner decides.
func TestUnresolvedPathsDoNotLand(t *testing.T) {
	for _, c := range []struct {
		name  string
		kind  forkbox.Kind
		inBox string
		want  string
	}{
		{"markers", forkbox.Modified, "<<<<<<< box\na\n=======\nb\n>>>>>>> reality\n", "conflict at /w/f"},
		{"settled", forkbox.Modified, "settled\n", `put /w/f -rw-r--r-- "settled\n"`},
		{"deleted", forkbox.Deleted, "-", "conflict at /w/f"},
		{"attributes", forkbox.Mode, lines, "conflict at /w/f"},
		{"not text", forkbox.Modified, "\x00", "conflict at /w/f"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := newView(nil)
			v.Box.Unresolved = []string{"/w/f"}
			if got, _, _ := planned(t, v, forkbox.ApplySpec{}, change(t, c.kind, lines, c.inBox, before)); got != c.want {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
		})
	}
}
