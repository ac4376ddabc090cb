package review

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// updated is what a sync makes of a change, in words.
func updated(t *testing.T, v *View, e *Entry) (string, *Update) {
	t.Helper()
	e.Drifted = v.drifted(e)
	u, err := v.Update(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	if u == nil {
		return "nothing", nil
	}
	var all []string
	for _, item := range u.Items {
		all = append(all, itemWords(t, item))
	}
	if u.Taken {
		all = append(all, "taken")
	}
	if u.Conflict != "" {
		all = append(all, "conflict")
	}
	return strings.Join(all, ", "), u
}

func TestWhatASyncBringsIntoTheBox(t *testing.T) {
	put := func(text string) string { return `put /w/f -rw-r--r-- ` + quote(text) }
	marked := "1\n2\n3\n4\n5\n6\n7\n8\n<<<<<<< box\nbox\n=======\nreality\n>>>>>>> reality\n"
	for _, c := range []struct {
		name           string
		kind           forkbox.Kind
		reality, inBox string
		ctime          int64
		base           bases
		want           string
	}{
		{"reality did nothing", forkbox.Modified, lines, boxs, before, wasSo, "nothing"},
		{"merged", forkbox.Modified, realitys, boxs, after, wasSo, put(both)},
		{"same lines", forkbox.Modified, clash, boxs, after, wasSo, put(marked) + ", conflict"},
		{"base unknown", forkbox.Modified, clash, boxs, after, unknown, put(marked) + ", conflict"},
		{"the box had done nothing", forkbox.Modified, realitys, lines, after, wasSo, put(realitys) + ", taken"},
		{"binary", forkbox.Modified, "\x00", boxs, after, wasSo, "conflict"},
		{"deleted in the box", forkbox.Deleted, realitys, "-", after, wasSo, "conflict"},
		{"deleted in the box, as it was", forkbox.Deleted, lines, "-", before, wasSo, "nothing"},
		{"emptied by both", forkbox.Modified, "1\n", "", after, bases{"/w/f": {text: "1\n2\n", mode: 0o644}}, put("<<<<<<< box\n=======\n1\n>>>>>>> reality\n") + ", conflict"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, u := updated(t, newView(c.base), change(t, c.kind, c.reality, c.inBox, c.ctime))
			if got != c.want {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
			if u != nil && len(u.Items) > 0 && !u.Taken && string(u.Base) != c.reality {
				t.Errorf("the next merge starts from %q", u.Base)
			}
		})
	}
}

func TestASyncTellsWhatRealityDeleted(t *testing.T) {
	e := change(t, forkbox.Added, "-", "new", 0)
	e.sides().copied = true
	if got, _ := updated(t, newView(nil), e); got != "conflict" {
		t.Error(got)
	}
}

// Once the fence has moved on it would not be known that reality had changed
// something in a directory that the box deleted.
func TestPromise4ASyncTellsWhatRealityDidInALostDirectory(t *testing.T) {
	old, new, movedHere := file(0o644, before), file(0o644, after), dirNode(after, before)
	for _, kind := range []forkbox.Kind{forkbox.Deleted, forkbox.Type} {
		for _, c := range []struct {
			below inside
			want  string
		}{
			{in("/w/d/a", old), "nothing"}, {in("/w/d/a", new), "conflict"}, {in("/w/d/sub", &movedHere), "conflict"}, {kept("/w/d/k"), "nothing"},
		} {
			if got, _ := updated(t, newView(nil), lost(t, kind, c.below)); got != c.want {
				t.Errorf("%s, %s: got %s, want %s", kind, c.below.path, got, c.want)
			}
		}
	}
}

func TestASyncAndAttributes(t *testing.T) {
	for _, c := range []struct {
		name           string
		kind           forkbox.Kind
		reality, inBox fs.FileMode
		base           bases
		attrs          []string
		want           string
	}{
		{"the box's stay", forkbox.Mode, 0o644, 0o600, wasSo, []string{"mode"}, "nothing"},
		{"reality's come", forkbox.Mode, 0o600, 0o644, wasSo, []string{"mode"}, `put /w/f -rw------- ` + quote(lines) + `, taken`},
		{"nobody knows", forkbox.Mode, 0o600, 0o644, unknown, []string{"mode"}, "conflict"},
		{"nobody knows whose owner", forkbox.Mode, 0o644, 0o644, wasSo, []string{"owner"}, "conflict"},
		{"merged, the box's", forkbox.Modified, 0o644, 0o755, wasSo, []string{"mode"}, `put /w/f -rwxr-xr-x ` + quote(both)},
		{"merged, reality's", forkbox.Modified, 0o600, 0o644, wasSo, []string{"mode"}, `put /w/f -rw------- ` + quote(both)},
		{"merged, nobody knows", forkbox.Modified, 0o640, 0o660, wasSo, []string{"mode"}, `put /w/f -rw-r----- ` + quote(both) + `, conflict`},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := change(t, c.kind, realitys, boxs, after)
			if c.kind == forkbox.Mode {
				e = change(t, c.kind, lines, lines, after)
			}
			e.sides().old.Mode, e.sides().new.Mode, e.Attrs = c.reality, c.inBox, c.attrs
			if got, _ := updated(t, newView(c.base), e); got != c.want {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
		})
	}
}

// The box made a program of it, and reality wrote to it.
func TestASyncKeepsTheBoxsMode(t *testing.T) {
	e := change(t, forkbox.Modified, realitys, lines, after)
	e.sides().new.Mode, e.Attrs = 0o755, []string{"mode"}
	if got, _ := updated(t, newView(wasSo), e); got != `put /w/f -rwxr-xr-x `+quote(realitys) {
		t.Error(got)
	}
}

// What landed is reality's: the box gets what became of it.
func TestASyncAdoptsWhatBecameOfALanding(t *testing.T) {
	id := forkbox.Identity{Ino: 8, Ctime: before}
	v := newView(nil)
	v.Marks = marksOf(map[string]Mark{"/w/f": {Whole: true, Box: id}})
	if got, _ := updated(t, v, change(t, forkbox.Modified, realitys, boxs, after)); got != `put /w/f -rw-r--r-- `+quote(realitys)+`, taken` {
		t.Error(got)
	}
	if got, _ := updated(t, v, change(t, forkbox.Added, "-", boxs, 0)); got != "remove /w/f, taken" {
		t.Error(got)
	}
}
