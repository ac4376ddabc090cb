package review

import (
	"crypto/sha256"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// many has lines far enough apart for two hunks; firstOnly and secondOnly have
// one of them changed.
var (
	many       = numbered("1", "20")
	firstOnly  = numbered("first", "20")
	secondOnly = numbered("1", "second")
	bothHunks  = numbered("first", "second")
)

// numbered are twenty lines, of which the first and the last are given.
func numbered(first, last string) string {
	all := []string{first}
	for i := range 18 {
		all = append(all, strconv.Itoa(i+2))
	}
	return strings.Join(append(all, last, ""), "\n")
}

func hunks(numbers ...int) forkbox.ApplySpec {
	return forkbox.ApplySpec{Hunks: []forkbox.HunkSelection{{Path: "/w/f", Hunks: numbers}}}
}

func TestHunks(t *testing.T) {
	put := func(text string) string { return `put /w/f -rw-r--r-- ` + quote(text) }
	for _, c := range []struct {
		name    string
		spec    forkbox.ApplySpec
		reality string
		ctime   int64
		base    bases
		want    string
	}{
		{"the first", hunks(1), many, before, nil, put(firstOnly) + ", partial"},
		{"the second", hunks(2), many, before, nil, put(secondOnly) + ", partial"},
		{"all of them", hunks(2, 1), many, before, nil, put(bothHunks)},
		{"of a file that reality changed elsewhere", hunks(1), secondOnly, after, bases{"/w/f": {text: many, mode: 0o644}}, put(bothHunks) + ", merged, partial"},
		{"of a file that reality touched", hunks(1), many, after, bases{"/w/f": {text: many, mode: 0o644}}, put(firstOnly) + ", partial"},
		{"of a file that reality changed there", hunks(2), numbered("1", "reality"), after, bases{"/w/f": {text: many, mode: 0o644}}, "conflict at /w/f"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := change(t, forkbox.Modified, c.reality, bothHunks, c.ctime)
			got, _, step := planned(t, newView(c.base), c.spec, e)
			if got != c.want {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
			if len(step.Items) > 0 && (step.Sum == nil || *step.Sum != sha256.Sum256([]byte(bothHunks))) {
				t.Error("the review hash is of what the box has, not of what landed")
			}
		})
	}
}

// The box wins where both changed the lines, but no hunk lands that was not
// asked for.
func TestTheirsLandsNoOtherHunk(t *testing.T) {
	spec := hunks(2)
	spec.Conflict = forkbox.Theirs
	e := change(t, forkbox.Modified, numbered("1", "reality"), bothHunks, after)
	got, _, _ := planned(t, newView(bases{"/w/f": {text: many, mode: 0o644}}), spec, e)
	if want := `put /w/f -rw-r--r-- ` + quote(secondOnly) + `, partial`; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestHunksOfAFileThatASyncLeftAndWasSettled(t *testing.T) {
	v := newView(nil)
	v.Box.Unresolved = []string{"/w/f"}
	got, _, _ := planned(t, v, hunks(1), change(t, forkbox.Modified, many, bothHunks, before))
	if want := `put /w/f -rw-r--r-- ` + quote(firstOnly) + `, partial`; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// A mode is no hunk: it lands with the whole file, and until then the file is
// not done.
func TestHunksLeaveTheMode(t *testing.T) {
	for _, ctime := range []int64{before, after} {
		e := change(t, forkbox.Modified, many, bothHunks, ctime)
		e.sides().new.Mode, e.Attrs = 0o755, []string{"mode"}
		got, _, _ := planned(t, newView(bases{"/w/f": {text: many, mode: 0o644}}), hunks(1, 2), e)
		if want := `put /w/f -rw-r--r-- ` + quote(bothHunks) + `, partial`; got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
}

func TestHunksOfANewFile(t *testing.T) {
	e := change(t, forkbox.Added, "-", "new\n", 0)
	if got, _, _ := planned(t, newView(nil), hunks(1), e); got != `put /w/f -rw-r--r-- "new\n"` {
		t.Error(got)
	}
}

func TestHunksThatAreNone(t *testing.T) {
	for _, c := range []struct {
		name  string
		spec  forkbox.ApplySpec
		inBox string
	}{
		{"too high", hunks(3), bothHunks}, {"zero", hunks(0), bothHunks}, {"negative", hunks(-1), bothHunks},
		{"binary", hunks(1), "\x00"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &Plan{View: newView(nil), Spec: c.spec, Chosen: Choose(forkbox.Selection{}, c.spec.Hunks, newSorter(nil))}
			step, err := p.Next(t.Context(), change(t, forkbox.Modified, many, c.inBox, before))
			var e *forkbox.Error
			if !errors.As(err, &e) || e.Code != forkbox.Invalid || len(e.Hints) == 0 || len(step.Items) > 0 {
				t.Errorf("%v, %v", step, err)
			}
		})
	}
}

func TestHunkPathsThatAreNotText(t *testing.T) {
	if got := HunkPath(forkbox.HunkSelection{Path: "/w/?", Bytes: []byte("/w/\xff")}); got != "/w/\xff" {
		t.Errorf("%q", got)
	}
}
