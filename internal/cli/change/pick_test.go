package change

import (
	"bufio"
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/place"
	"github.com/forkbox/forkbox/internal/review/patch"
)

// modified is a change of a file from old to new, patch included.
func modified(t *testing.T, path, old, new string) forkbox.Change {
	t.Helper()
	name := strings.TrimPrefix(path, "/")
	f := patch.File{OldPath: name, NewPath: name, OldMode: 0o644, NewMode: 0o644, Old: []byte(old), New: []byte(new)}
	return forkbox.Change{Path: path, Kind: forkbox.Modified, Type: "file", Patch: rendered(t, f)}
}

// numbered is n lines; the given ones are changed.
func numbered(n int, changed ...int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		line := fmt.Sprintf("line %d", i)
		for _, c := range changed {
			if c == i {
				line += " changed"
			}
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

func pick(keys string, changes ...forkbox.Change) (picks, string) {
	var out bytes.Buffer
	p := &picker{in: bufio.NewReader(strings.NewReader(keys)), out: &out, here: place.Place{Dir: "/w"}}
	return p.run(changes), out.String()
}

func TestPickHunks(t *testing.T) {
	// Lines 1, 3 and 5 are one hunk of three runs, 20 and 40 one each.
	three := modified(t, "/w/f", numbered(50), numbered(50, 1, 3, 5, 20, 40))
	for keys, want := range map[string]struct {
		paths forkbox.Strings
		hunks []forkbox.HunkSelection
	}{
		"y\ny\ny\n":           {paths: forkbox.Strings{"/w/f"}},
		"a\n":                 {paths: forkbox.Strings{"/w/f"}},
		"n\nn\nn\n":           {},
		"d\n":                 {},
		"q\n":                 {},
		"":                    {},
		"y\n":                 {forkbox.Strings{"/w/f"}, []forkbox.HunkSelection{{Path: "/w/f", Hunks: []int{1}}}},
		"y\nq\n":              {forkbox.Strings{"/w/f"}, []forkbox.HunkSelection{{Path: "/w/f", Hunks: []int{1}}}},
		"n\ny\nn\n":           {forkbox.Strings{"/w/f"}, []forkbox.HunkSelection{{Path: "/w/f", Hunks: []int{2}}}},
		"y\nd\n":              {forkbox.Strings{"/w/f"}, []forkbox.HunkSelection{{Path: "/w/f", Hunks: []int{1}}}},
		"n\na\n":              {forkbox.Strings{"/w/f"}, []forkbox.HunkSelection{{Path: "/w/f", Hunks: []int{2, 3}}}},
		"j\nn\ny\ny\n":        {forkbox.Strings{"/w/f"}, []forkbox.HunkSelection{{Path: "/w/f", Hunks: []int{1, 3}}}}, // round again
		"y\nK\nn\ny\n":        {forkbox.Strings{"/w/f"}, []forkbox.HunkSelection{{Path: "/w/f", Hunks: []int{2}}}},    // changed the mind
		"j\nk\ny\nd\n":        {forkbox.Strings{"/w/f"}, []forkbox.HunkSelection{{Path: "/w/f", Hunks: []int{1}}}},
		"J\ny\nq\n":           {forkbox.Strings{"/w/f"}, []forkbox.HunkSelection{{Path: "/w/f", Hunks: []int{2}}}},
		"g3\ny\nq\n":          {forkbox.Strings{"/w/f"}, []forkbox.HunkSelection{{Path: "/w/f", Hunks: []int{3}}}},
		"g\n3\ny\nq\n":        {forkbox.Strings{"/w/f"}, []forkbox.HunkSelection{{Path: "/w/f", Hunks: []int{3}}}},
		"/line 20 c\ny\nq\n":  {forkbox.Strings{"/w/f"}, []forkbox.HunkSelection{{Path: "/w/f", Hunks: []int{2}}}},
		"s\ny\nn\ny\nn\nn\n":  {forkbox.Strings{"/w/f"}, []forkbox.HunkSelection{{Path: "/w/f", Hunks: []int{1, 3}, Fine: true}}},
		"s\nn\ny\nn\ny\nn\n":  {forkbox.Strings{"/w/f"}, []forkbox.HunkSelection{{Path: "/w/f", Hunks: []int{2, 4}, Fine: true}}},
		"s\na\n":              {paths: forkbox.Strings{"/w/f"}},
		"?\nx\n\ng9\ny\nd\n":  {forkbox.Strings{"/w/f"}, []forkbox.HunkSelection{{Path: "/w/f", Hunks: []int{1}}}},
		"y\nyes\nk\n/[\nd\n":  {forkbox.Strings{"/w/f"}, []forkbox.HunkSelection{{Path: "/w/f", Hunks: []int{1}}}},
		"y\ns\ng0\n/none\nd ": {forkbox.Strings{"/w/f"}, []forkbox.HunkSelection{{Path: "/w/f", Hunks: []int{1}}}}, // no newline at the end
	} {
		got, out := pick(keys, three)
		if !reflect.DeepEqual(got.paths, want.paths) || !reflect.DeepEqual(got.hunks, want.hunks) {
			t.Errorf("%q: %+v\n%s", keys, got, out)
		}
	}
}

// What the picker sends is what its questions showed: selecting the hunks from
// the old text gives exactly the wanted lines.
func TestPickedRunsAreThoseShown(t *testing.T) {
	old, new := numbered(50), numbered(50, 1, 3, 5, 20, 40)
	got, _ := pick("s\nn\ny\nn\nn\ny\n", modified(t, "/w/f", old, new))
	text, err := patch.Select([]byte(old), patch.Hunks([]byte(old), []byte(new)), got.hunks[0].Hunks, got.hunks[0].Fine)
	if err != nil || string(text) != numbered(50, 3, 40) {
		t.Errorf("%v\n%s", err, text)
	}
}

func TestPickPrompts(t *testing.T) {
	_, out := pick("s\nn\ny\nq\n", modified(t, "/w/f", numbered(50), numbered(50, 1, 3, 30)))
	for _, want := range []string{
		"(1/2) Apply this hunk [y,n,q,a,d,j,J,g,/,s,?]? ", "Split into 2 hunks.",
		"(1/3) Apply this hunk [y,n,q,a,d,j,J,g,/,?]? ", "(2/3) Apply this hunk [y,n,q,a,d,K,j,J,g,/,?]? ",
		"(3/3) Apply this hunk [y,n,q,a,d,K,g,/,?]? ",
		"diff --git a/w/f b/w/f\n", "+line 3 changed\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// Changes without hunks are asked about as a whole.
func TestPickWholeChanges(t *testing.T) {
	changes := []forkbox.Change{
		{Path: "/w/bin", Kind: forkbox.Modified, Type: "file", Binary: true, Patch: []byte("diff --git a/bin b/bin\nGIT binary patch\nliteral 1\nIc\n\n")},
		{Path: "/w/empty", Kind: forkbox.Added, Type: "file", Patch: []byte("diff --git a/empty b/empty\nnew file mode 100644\n")},
		{Path: "/w/gone", Kind: forkbox.Deleted, Type: "file", Patch: []byte("diff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n")},
		{Path: "/w/link", Kind: forkbox.Linked, Type: "file", Link: "/w/bin"},
		{Path: "/w/mode", Kind: forkbox.Mode, Type: "file", Attrs: []string{"mode"}},
		{Path: "/w/moved", Kind: forkbox.Renamed, Type: "dir", From: "/w/was"},
		{Path: "/w/type", Kind: forkbox.Type, Type: "symlink"},
	}
	got, out := pick("y\nn\ny\nn\ny\nn\ny\n", changes...)
	if want := (forkbox.Strings{"/w/bin", "/w/gone", "/w/mode", "/w/type"}); !reflect.DeepEqual(got.paths, want) || got.hunks != nil {
		t.Errorf("%+v", got)
	}
	for _, want := range []string{
		"Apply this change [y,n,q,a,d,?]?", "Apply addition [", "Apply deletion [", "Apply hard link [",
		"Apply mode change [", "Apply rename [", "Apply type change [", "-x\n", "# renamed dir moved/  (from was)",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// A new directory lands with what is wanted of it, so it is not asked about.
func TestPickDirectories(t *testing.T) {
	changes := []forkbox.Change{
		{Path: "/w/d", Kind: forkbox.Added, Type: "dir"},
		{Path: "/w/d-other", Kind: forkbox.Added, Type: "file"},
		{Path: "/w/d/e", Kind: forkbox.Added, Type: "dir"},
		{Path: "/w/d/e/f", Kind: forkbox.Added, Type: "file"},
		{Path: "/w/empty", Kind: forkbox.Added, Type: "dir"},
		{Path: "/w/m", Kind: forkbox.Renamed, Type: "dir", From: "/w/n"},
		{Path: "/w/m/f", Kind: forkbox.Modified, Type: "file"},
	}
	for keys, want := range map[string]forkbox.Strings{
		"n\ny\nn\nn\n":    {"/w/d/e/f"},
		"y\nn\nn\nn\n":    {"/w/d-other"},
		"n\nn\ny\nn\n":    {"/w/empty"},
		"n\nn\nn\nn\ny\n": nil, // what lies in a directory that does not move is not asked about
		"n\nn\nn\ny\ny\n": {"/w/m", "/w/m/f"},
		"n\nn\nn\ny\nn\n": {"/w/m"},
	} {
		if got, out := pick(keys, changes...); !reflect.DeepEqual(got.paths, want) {
			t.Errorf("%q: %q, not %q\n%s", keys, got.paths, want, out)
		}
	}
}

func TestPickQuitKeepsWhatWasChosenBefore(t *testing.T) {
	first := modified(t, "/w/a", "x\n", "y\n")
	second := modified(t, "/w/b", "x\n", "y\n")
	third := modified(t, "/w/c", "x\n", "y\n")
	got, _ := pick("y\nq\ny\n", first, second, third)
	if !reflect.DeepEqual(got.paths, forkbox.Strings{"/w/a"}) {
		t.Errorf("%+v", got)
	}
}

func TestPickNamesThatAreNotText(t *testing.T) {
	c := modified(t, "/w/x", numbered(30), numbered(30, 1, 30))
	c.Path, c.PathBytes = "/w/\uFFFD", []byte("/w/\xff")
	got, _ := pick("y\nn\n", c)
	if len(got.hunks) != 1 || string(got.hunks[0].Bytes) != "/w/\xff" || got.paths[0] != "/w/\xff" {
		t.Errorf("%+v", got)
	}
}
