package review

import (
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

func described(t *testing.T, v *View, e *Entry, root string) string {
	t.Helper()
	e.Drifted = v.drifted(e)
	if _, _, err := v.Describe(t.Context(), e, root, true); err != nil {
		t.Fatal(err)
	}
	return string(e.Patch)
}

func TestPatchesAreRelativeToTheirRoot(t *testing.T) {
	for root, want := range map[string]string{"/w": "diff --git a/f b/f\n", "": "diff --git a/w/f b/w/f\n", "/": "diff --git a/w/f b/w/f\n", "/other": "diff --git a/w/f b/w/f\n"} {
		e := change(t, forkbox.Modified, "old\n", "new\n", before)
		if got := described(t, newView(nil), e, root); !strings.HasPrefix(got, want) || !strings.Contains(got, "-old\n+new\n") {
			t.Errorf("%q: %s", root, got)
		}
		if e.Plus != 1 || e.Minus != 1 || e.Hunks != 1 || e.Binary {
			t.Errorf("%+v", e.Change)
		}
	}
}

func TestStatCountsWithoutAPatch(t *testing.T) {
	e := change(t, forkbox.Modified, "old\n", "new\nand\n", before)
	if _, _, err := newView(nil).Describe(t.Context(), e, "", false); err != nil || e.Patch != nil || e.Plus != 2 || e.Minus != 1 {
		t.Errorf("%+v, %v", e.Change, err)
	}
}

// A patch is of what the box did, not of what reality did meanwhile.
func TestPatchesOfDriftedFilesStartFromTheBase(t *testing.T) {
	e := change(t, forkbox.Modified, realitys, boxs, after)
	if got := described(t, newView(wasSo), e, "/w"); strings.Contains(got, "reality") || !strings.Contains(got, "-9\n+box\n") {
		t.Error(got)
	}
}

// Of what the box was not shown, or its owner may not read, nothing is told.
func TestNoPatchTellsASecret(t *testing.T) {
	e := change(t, forkbox.Modified, "secret\n", "new\n", before)
	e.Hidden = true
	if got := described(t, newView(nil), e, "/w"); got != "" {
		t.Error(got)
	}
	if os.Getuid() != 0 {
		t.Skip("only a daemon of root can read what its users may not")
	}
	for _, c := range []struct {
		name   string
		node   func(*forkbox.Node)
		groups []int
		told   bool
	}{
		{"another's private file", func(n *forkbox.Node) { n.Mode = 0o600 }, nil, false},
		{"another's file for all", func(n *forkbox.Node) { n.Mode = 0o644 }, nil, true},
		{"for all but one's group", func(n *forkbox.Node) { n.Mode, n.GID = 0o604, 1000 }, nil, false},
		{"a group's", func(n *forkbox.Node) { n.Mode, n.GID = 0o640, 50 }, []int{50}, true},
		{"another group's", func(n *forkbox.Node) { n.Mode, n.GID = 0o640, 51 }, []int{50}, false},
		{"one's own, closed to oneself", func(n *forkbox.Node) { n.Mode, n.UID = 0o044, 1000 }, nil, false},
		{"one's own", func(n *forkbox.Node) { n.Mode, n.UID = 0o600, 1000 }, nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := change(t, forkbox.Modified, "secret\n", "new\n", before)
			c.node(e.sides().old)
			v := newView(nil)
			v.Box.Owner = forkbox.Owner{UID: 1000, GID: 1000, Groups: c.groups}
			if got := described(t, v, e, "/w"); strings.Contains(got, "secret") != c.told || c.told != (got != "") {
				t.Errorf("told %q", got)
			}
		})
	}
}

func TestPatchesOfSymlinksAndModes(t *testing.T) {
	e := change(t, forkbox.Type, "old\n", "-", before)
	e.Type = "symlink"
	e.sides().new = &forkbox.Node{Mode: fs.ModeSymlink | 0o777, Target: "to"}
	if got := described(t, newView(nil), e, "/w"); !strings.Contains(got, "new file mode 120000") || !strings.Contains(got, "+to\n\\ No newline") {
		t.Error(got)
	}
	e = change(t, forkbox.Mode, "same\n", "same\n", before)
	e.sides().new.Mode = 0o755
	if got := described(t, newView(nil), e, "/w"); !strings.Contains(got, "old mode 100644\nnew mode 100755") {
		t.Error(got)
	}
	e = change(t, forkbox.Added, "-", "-", before)
	e.Type, e.sides().new = "fifo", &forkbox.Node{Mode: fs.ModeNamedPipe | 0o644}
	if got := described(t, newView(nil), e, "/w"); got != "" || e.sides().opened > 0 {
		t.Error("git has no fifos:", got)
	}
}

// What vanishes while a running box is looked at is no error.
func TestVanishedFilesHaveNoPatch(t *testing.T) {
	e := change(t, forkbox.Modified, "old\n", "-", before)
	e.Type = "file"
	if got := described(t, newView(nil), e, "/w"); strings.Contains(got, "+") && !strings.Contains(got, "deleted file") {
		t.Error(got)
	}
}

func TestAFileTooLargeForAPatchIsNotHeld(t *testing.T) {
	e := change(t, forkbox.Modified, "old\n", "new\n", before)
	e.sides().new.Size = maxText + 1
	if got := described(t, newView(nil), e, "/w"); got != "" || e.sides().opened > 0 {
		t.Errorf("%q, opened %d times", got, e.sides().opened)
	}
}
