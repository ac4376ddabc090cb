package snapshot

import (
	"regexp"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// treeOf draws without the ages.
func treeOf(family forkbox.Family, lines treeLines) string {
	return regexp.MustCompile(`  \([^)]*-\)`).ReplaceAllString(drawTree(newPedigree(family).roots(), lines), "")
}

func box(id, parent, parentBox string) forkbox.Box {
	return forkbox.Box{ID: id, Name: id, State: forkbox.Stopped, Parent: parent, ParentBox: parentBox}
}

func snap(id, box, parent string) forkbox.Snapshot {
	return forkbox.Snapshot{ID: box + "." + id, Box: box, Name: id, Parent: parent}
}

func TestTree(t *testing.T) {
	family := forkbox.Family{
		Boxes: []forkbox.Box{
			{ID: "a", Name: "a", State: forkbox.Stopped, At: "a.2"},
			box("child", "a.1", "a"),
			box("grandchild", "child.x", "child"),
			box("alone", "", ""),
			box("made", "t1", ""),
			box("orphan", "gone.1", "gone"),
			box("orphan2", "gone.1", "gone"),
			box("half", "a.gone", "a"),
			{ID: "back", Name: "back", State: forkbox.Stopped, Parent: "a.1", ParentBox: "a", At: "back.1"},
		},
		Snapshots: []forkbox.Snapshot{
			snap("1", "a", ""), snap("2", "a", "a.1"), snap("x", "child", "a.1"), snap("1", "back", "a.1"),
			{ID: "a.auto-1", Box: "a", Name: "auto-1", Auto: true, Message: "be\x1bfore"},
		},
		Templates: []forkbox.Template{
			{ID: "t1", Name: "base", Parent: "a.2"}, {ID: "t2", Name: "old", Parent: "gone.2"},
		},
	}
	want := `
a
|- @1
|  |- child
|  |  '- @x
|  |     '- grandchild
|  '- back
|     '- @1 *
|- @2 *
|  '- template base
|     '- made
|- @auto-1  (automatic) "be\x1bfore"
'- @(removed)
   '- half
alone
(removed)
'- template old
(removed)
|- orphan
'- orphan2
`
	if got := "\n" + treeOf(family, asciiLines); got != strings.ReplaceAll(want, "'-", "`-") {
		t.Errorf("got:%s\nwant:%s", got, want)
	}
	if got := treeOf(family, unicodeLines); !strings.Contains(got, "│  │     └─ grandchild\n") {
		t.Error(got)
	}
}

// TestTreeDrawsEverythingOnce, also what the ledger should never say.
func TestTreeDrawsEverythingOnce(t *testing.T) {
	for name, family := range map[string]forkbox.Family{
		"two of each other": {
			Boxes:     []forkbox.Box{box("a", "b.1", "b"), box("b", "a.1", "a")},
			Snapshots: []forkbox.Snapshot{snap("1", "a", ""), snap("1", "b", "")},
		},
		"of itself": {Boxes: []forkbox.Box{box("a", "a", "a"), box("b", "", "")}},
		"of its own snapshot": {
			Boxes:     []forkbox.Box{box("a", "a.1", "a"), box("b", "a.1", "a")},
			Snapshots: []forkbox.Snapshot{snap("1", "a", "")},
		},
		"of one that is gone, of itself": {Boxes: []forkbox.Box{box("a", "gone", "a"), box("b", "gone", "a")}},
	} {
		drawn := treeOf(family, asciiLines)
		for _, id := range []string{"a", "b"} {
			if n := len(regexp.MustCompile(`(?m)^\W*`+id+`$`).FindAllString(drawn, -1)); n != 1 {
				t.Errorf("%s: %s is drawn %d times:\n%s", name, id, n, drawn)
			}
		}
	}
}

func TestLocale(t *testing.T) {
	for _, row := range []struct {
		all, ctype, lang string
		want             bool
	}{
		{"", "", "", false}, {"", "", "C.UTF-8", true}, {"C", "", "en_GB.utf8", false}, {"", "de_DE.UTF-8", "C", true},
	} {
		t.Setenv("LC_ALL", row.all)
		t.Setenv("LC_CTYPE", row.ctype)
		t.Setenv("LANG", row.lang)
		if got := localeIsUTF8(); got != row.want {
			t.Errorf("%+v: %v", row, got)
		}
	}
}
