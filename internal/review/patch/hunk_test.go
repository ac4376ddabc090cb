package patch

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

func counted(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("%d\n", i+1)
	}
	return list
}

// Six unchanged lines between changes keep them in one hunk, seven part them,
// in git and here.
func TestHunksPartWhereGitParts(t *testing.T) {
	for gap, hunks := range map[int]int{1: 1, 6: 1, 7: 2} {
		old := counted(30)
		new := slices.Clone(old)
		new[5], new[6+gap] = "x\n", "y\n"
		f := File{OldPath: "f", NewPath: "f", OldMode: 0o644, NewMode: 0o644}
		f.Old, f.New = []byte(strings.Join(old, "")), []byte(strings.Join(new, ""))
		if n := len(Hunks(f.Old, f.New)); n != hunks || Count(f.Old, f.New).Hunks != hunks {
			t.Errorf("%d lines between: %d hunks", gap, n)
		}
		checkLikeGit(t, t.TempDir(), f)
	}
}

// The heading of the second hunk is the first line that the first one shows.
func TestHeadingIsFoundWithinTheHunkBefore(t *testing.T) {
	old := counted(40)
	old[7] = "func here() {\n"
	new := slices.Clone(old)
	new[10], new[30] = "x\n", "y\n"
	f := File{OldPath: "f", NewPath: "f", OldMode: 0o644, NewMode: 0o644}
	f.Old, f.New = []byte(strings.Join(old, "")), []byte(strings.Join(new, ""))
	if h := Hunks(f.Old, f.New); h[0].Section != "" || h[1].Section != "func here() {" {
		t.Errorf("headings %q and %q", h[0].Section, h[1].Section)
	}
	checkLikeGit(t, t.TempDir(), f)
}

// A run that can be told next to another edit, above or below, is.
func TestEditsJoinWhereTheyCan(t *testing.T) {
	for name, c := range map[string]struct {
		old, new string
		want     []Edit
	}{
		"above":                  {"p\nq\nz\n", "P\nq\nq\nz\n", []Edit{{0, 1, 0, 2}}},
		"above what is inserted": {"b\na\n", "c\nb\nb\na\nb\n", []Edit{{0, 0, 0, 2}, {2, 2, 4, 5}}},
		"below":                  {"a\nq\nz\n", "a\nq\nq\nZ\n", []Edit{{2, 3, 2, 4}}},
	} {
		if got := Edits(Split([]byte(c.old)), Split([]byte(c.new))); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Hunks that overlap, or are out of order, would write lines twice.
func TestSelectRefusesHunksThatOverlap(t *testing.T) {
	old := []byte("a\nb\nc\n")
	remove := Hunk{OldStart: 1, OldLines: 2, NewStart: 0, Lines: []Line{{'-', []byte("a\n")}, {'-', []byte("b\n")}}}
	insert := Hunk{OldStart: 1, NewStart: 2, NewLines: 1, Lines: []Line{{'+', []byte("x\n")}}}
	for _, hunks := range [][]Hunk{{remove, insert}, {remove, remove}} {
		if got, err := Select(old, hunks, []int{1, 2}, false); forkbox.CodeOf(err) != forkbox.Conflict || got != nil {
			t.Errorf("%q %v", got, err)
		}
	}
	insert.OldStart = 2
	if got, err := Select(old, []Hunk{remove, insert}, []int{1, 2}, false); err != nil || !bytes.Equal(got, []byte("x\nc\n")) {
		t.Errorf("%q %v", got, err)
	}
}

// What two ways of telling a change do not agree on is not certain; a run that
// merely could be told higher up is.
func TestCertainEdits(t *testing.T) {
	for _, c := range []struct {
		old, new string
		want     []Edit
	}{
		{"}\n2\n}\n}\n5\n}\n}", "}\n2\n}\n5\n}\n}\n", []Edit{{3, 7, 3, 6}}},
		{"6\n7\nr\n9", "6\nr\nr\n9\n", []Edit{{1, 4, 1, 4}}},
		{"x\n}\nz\n", "x\n}\nf\n}\nz\n", []Edit{{2, 2, 2, 4}}},
		{"1\n2\n3\n", "1\n3\n4\n", []Edit{{1, 2, 1, 1}, {3, 3, 2, 3}}},
	} {
		old, new := Split([]byte(c.old)), Split([]byte(c.new))
		got := CertainEdits(old, new)
		checkEdits(t, got, old, new)
		if !slices.Equal(got, c.want) {
			t.Errorf("%q %q: %v", c.old, c.new, got)
		}
	}
}
