package patch

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
	"pgregory.net/rapid"
)

func numbered(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i + 1
	}
	return list
}

func selected(t fataler, old []byte, hunks []Hunk, numbers []int, fine bool) []byte {
	t.Helper()
	got, err := Select(old, hunks, numbers, fine)
	must(t, err)
	return got
}

// "approving one hunk marks the whole file approved; the other hunks are lost":
// whatever is selected, what is left is told as left, and all of it together is
// the new version.
func TestSelectingHunksNeverLosesTheOthers(t *testing.T) {
	for name, lines := range map[string]*rapid.Generator[string]{"nasty": lineOf(), "few": fewLines()} {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			pair := pairOf(lines).Draw(t, "pair")
			old, new := pair[0], pair[1]
			hunks := Hunks(old, new)
			fine := rapid.Bool().Draw(t, "fine")
			units := hunks
			if fine {
				units = Runs(hunks)
			}
			all := numbered(len(units))
			if got := selected(t, old, hunks, all, fine); !bytes.Equal(got, new) {
				t.Fatalf("all make %q, not %q", got, new)
			}
			if got := selected(t, old, hunks, nil, fine); !bytes.Equal(got, old) {
				t.Fatalf("none make %q, not %q", got, old)
			}
			var some []int
			for _, n := range all {
				if rapid.Bool().Draw(t, "chosen") {
					some = append(some, n)
				}
			}
			checkSome(t, old, new, units, some, selected(t, old, hunks, some, fine))
		}))
	}
}

// checkSome holds a partial selection against one that is made by hand, and
// looks at what is left.
func checkSome(t fataler, old, new []byte, units []Hunk, some []int, got []byte) {
	t.Helper()
	if want := byHand(old, units, some); !bytes.Equal(got, want) {
		t.Fatalf("%v of %d make %q, not %q", some, len(units), got, want)
	}
	rest := Hunks(got, new)
	left := total(rest, nil)
	want := total(units, some)
	// Repeated lines may tell the rest with fewer lines, never with more.
	if left.Plus > want.Plus || left.Minus > want.Minus || left.Plus-left.Minus != want.Plus-want.Minus {
		t.Fatalf("%+v is left, not %+v", left, want)
	}
	if !bytes.Equal(selected(t, got, rest, numbered(len(rest)), false), new) {
		t.Fatal("what is left does not lead to the new version")
	}
}

// total counts the lines of all units but some.
func total(units []Hunk, some []int) (s Stats) {
	for i, h := range units {
		if !slices.Contains(some, i+1) {
			minus, plus := h.changed()
			s.add(Stats{Plus: plus, Minus: minus})
		}
	}
	return s
}

// byHand deletes and inserts from the last unit to the first, so that line
// numbers stay true.
func byHand(old []byte, units []Hunk, some []int) []byte {
	lines := Split(old)
	for _, n := range slices.Backward(some) {
		h := units[n-1]
		from := h.OldStart - 1
		if h.OldLines == 0 {
			from = h.OldStart
		}
		var after [][]byte
		for _, line := range h.Lines {
			if line.Op != '-' {
				after = append(after, line.Text)
			}
		}
		lines = slices.Replace(lines, from, from+h.OldLines, after...)
	}
	return bytes.Join(lines, nil)
}

// With lines that occur once there is only one way to tell a change, so the
// rest must be told as it was before.
func TestWhatIsLeftIsTheOtherHunks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		old, new := distinct(t, 120)
		hunks := Hunks(old, new)
		for n := range hunks {
			got := selected(t, old, hunks, []int{n + 1}, false)
			rest := Hunks(got, new)
			if len(rest) != len(hunks)-1 {
				t.Fatalf("%d hunks are left of %d", len(rest), len(hunks))
			}
			others := slices.Delete(slices.Clone(hunks), n, n+1)
			for i := range rest {
				if !slices.EqualFunc(rest[i].Lines, others[i].Lines, sameLine) {
					t.Fatalf("hunk %d of the rest has changed", i+1)
				}
			}
		}
	})
}

func sameLine(a, b Line) bool { return a.Op == b.Op && bytes.Equal(a.Text, b.Text) }

func TestRunsAreNumberedAcrossTheFile(t *testing.T) {
	old := []byte("1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n17\n18\n19\n20\n")
	new := []byte("1\nB\n3\n4\n5\n6\n7\n8\nnine\n10\n11\n12\n13\n14\n15\n16\n17\n18\n18a\n19\n20")
	hunks := Hunks(old, new)
	var headers []string
	for _, h := range Runs(hunks) {
		headers = append(headers, h.Header())
	}
	want := []string{"@@ -1,8 +1,8 @@", "@@ -3,10 +3,10 @@", "@@ -16,4 +16,5 @@", "@@ -19,2 +20,2 @@"}
	if len(hunks) != 2 || !slices.Equal(headers, want) {
		t.Fatalf("%d hunks, runs %q", len(hunks), headers)
	}
	got := selected(t, old, hunks, []int{4, 2, 2}, true)
	if want := strings.Replace(strings.TrimSuffix(string(old), "\n"), "9\n", "nine\n", 1); string(got) != want {
		t.Fatalf("got %q", got)
	}
}

func TestSelectRefusesWhatIsNotThere(t *testing.T) {
	old, new := []byte("a\nb\n"), []byte("a\nc\n")
	hunks := Hunks(old, new)
	for _, numbers := range [][]int{{0}, {-1}, {2}, {1, 2}} {
		for _, fine := range []bool{false, true} {
			if _, err := Select(old, hunks, numbers, fine); forkbox.CodeOf(err) != forkbox.Invalid {
				t.Errorf("%v: %v", numbers, err)
			}
		}
	}
	for _, other := range []string{"", "a\n", "a\nx\n", "a\nb", "x\nb\n"} {
		if _, err := Select([]byte(other), hunks, []int{1}, false); forkbox.CodeOf(err) != forkbox.Conflict {
			t.Errorf("hunks of another file: %q: %v", other, err)
		}
	}
	if got, err := Select(old, hunks, []int{1, 1, 1}, false); err != nil || string(got) != string(new) {
		t.Errorf("repeated numbers: %q, %v", got, err)
	}
}

func FuzzSelect(f *testing.F) {
	f.Add([]byte("a\nb\nc\n"), []byte("a\nx\nc\ny"), uint64(1), true)
	f.Add([]byte("a"), []byte(""), uint64(3), false)
	f.Fuzz(func(t *testing.T, old, new []byte, chosen uint64, fine bool) {
		hunks := Hunks(old, new)
		units := hunks
		if fine {
			units = Runs(hunks)
		}
		var some []int
		for i := range units {
			if chosen>>(i%64)&1 != 0 {
				some = append(some, i+1)
			}
		}
		checkSome(t, old, new, units, some, selected(t, old, hunks, some, fine))
		if !bytes.Equal(selected(t, old, hunks, numbered(len(units)), fine), new) {
			t.Fatal("all together are not the new version")
		}
	})
}

// Hunks that come from elsewhere are refused or applied, never a crash.
func FuzzSelectForeignHunks(f *testing.F) {
	f.Add([]byte("a\nb\n"), []byte("diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"))
	f.Fuzz(func(t *testing.T, old, patch []byte) {
		files, err := Parse(patch)
		if err != nil {
			return
		}
		for _, file := range files {
			for _, fine := range []bool{false, true} {
				_, err := Select(old, file.Hunks, []int{1}, fine)
				if err == nil && len(file.Hunks) == 0 {
					t.Fatal("selected a hunk of none")
				}
			}
		}
	})
}
