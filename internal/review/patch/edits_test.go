package patch

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func fewLines() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{"a\n", "b\n", "c\n", "\n"})
}

// checkEdits checks that edits are right, whatever their number.
func checkEdits(t fataler, edits []Edit, old, new [][]byte) (changed int) {
	t.Helper()
	var out [][]byte
	at := 0
	for i, e := range edits {
		if i > 0 && e.OldFrom <= at || e.OldTo < e.OldFrom || e.NewTo < e.NewFrom {
			t.Fatalf("edit %d is out of order, or touches another: %v", i, edits)
		}
		out = append(out, old[at:e.OldFrom]...)
		if len(out) != e.NewFrom {
			t.Fatalf("edit %d is not where it says: %v", i, edits)
		}
		out = append(out, new[e.NewFrom:e.NewTo]...)
		at = e.OldTo
		changed += e.OldTo - e.OldFrom + e.NewTo - e.NewFrom
	}
	out = append(out, old[at:]...)
	if got, want := bytes.Join(out, nil), bytes.Join(new, nil); !bytes.Equal(got, want) {
		t.Fatalf("edits make %q of %q, not %q", got, bytes.Join(old, nil), want)
	}
	return changed
}

// fewest is the textbook's table: slow and plain.
func fewest(a, b [][]byte) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		diagonal := row[0]
		row[0] = i + 1
		for j := range b {
			best := min(row[j], row[j+1]) + 1
			if bytes.Equal(a[i], b[j]) {
				best = diagonal
			}
			diagonal, row[j+1] = row[j+1], best
		}
	}
	return row[len(b)]
}

func TestEditsAreRightAndFewest(t *testing.T) {
	for name, lines := range map[string]*rapid.Generator[string]{"few lines": fewLines(), "nasty lines": lineOf()} {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			pair := pairOf(lines).Draw(t, "pair")
			old, new := Split(pair[0]), Split(pair[1])
			edits := Edits(old, new)
			if got, want := checkEdits(t, edits, old, new), fewest(old, new); got != want {
				t.Fatalf("%d lines changed, %d would do", got, want)
			}
			checkEdits(t, place(edits, old, new), old, new)
			checkEdits(t, CertainEdits(old, new), old, new)
		}))
	}
}

// However little effort is made, the edits are right.
func TestEditsAreRightWhenBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pair := pairOf(fewLines()).Draw(t, "pair")
		old, new := Split(pair[0]), Split(pair[1])
		a, b := number(old, new)
		bound := rapid.IntRange(1, 8).Draw(t, "bound")
		edits := collect(compareWithin(a, b, bound))
		checkEdits(t, edits, old, new)
		checkEdits(t, compact(edits, old, new), old, new)
	})
}

// Inputs of the sizes that the package promises to cope with. Memory or time
// that grows with the square would end the test run.
func TestLargeInputs(t *testing.T) {
	for name, pair := range largeInputs(2 << 20) {
		t.Run(name, func(t *testing.T) {
			old, new := Split(pair[0]), Split(pair[1])
			checkEdits(t, Edits(old, new), old, new)
		})
	}
}

func BenchmarkLargeInputs(b *testing.B) {
	for name, pair := range largeInputs(10 << 20) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Hunks(pair[0], pair[1])
			}
		})
	}
}

// The worst cases, with few different lines, take seconds at 10 MB: a test has
// them smaller.
func largeInputs(worst int) map[string][2][]byte {
	count := func(prefix string, n int) []byte {
		var b bytes.Buffer
		for i := 0; b.Len() < n; i++ {
			fmt.Fprintf(&b, "%s line %d of a file\n", prefix, i)
		}
		return b.Bytes()
	}
	text := count("one", 50<<20)
	state := uint64(1)
	random := func(n int, words ...string) []byte {
		var b strings.Builder
		for b.Len() < n {
			state = state*6364136223846793005 + 1442695040888963407
			b.WriteString(words[state>>33%uint64(len(words))])
		}
		return []byte(b.String())
	}
	reversed := Split(count("two", 10<<20))
	for i, j := 0, len(reversed)-1; i < j; i, j = i+1, j-1 {
		reversed[i], reversed[j] = reversed[j], reversed[i]
	}
	return map[string][2][]byte{
		"one line in 50 MB":       {text, bytes.Replace(text, []byte("line 500000 "), []byte("line x "), 1)},
		"nothing in common":       {count("two", 10<<20), count("three", 10<<20)},
		"the same lines reversed": {count("two", 10<<20), bytes.Join(reversed, nil)},
		"four lines at random":    {random(worst, "a\n", "b\n", "\n", "}\n"), random(worst, "a\n", "b\n", "\n", "}\n")},
		"a line and a blank":      {random(worst, "a\n", "\n"), random(worst, "a\n", "\n")},
	}
}

// A new function is told from its first line, not from the brace before it.
func TestEditsArePlacedForReaders(t *testing.T) {
	old := "func a() {\n\tx()\n}\n\nfunc c() {\n\tx()\n}\n"
	new := "func a() {\n\tx()\n}\n\nfunc b() {\n\tx()\n}\n\nfunc c() {\n\tx()\n}\n"
	h := Hunks([]byte(old), []byte(new))
	want := "@@ -2,6 +2,10 @@ func a() {\n \tx()\n }\n \n+func b() {\n+\tx()\n+}\n+\n func c() {\n \tx()\n }\n"
	var b strings.Builder
	must(t, h[0].Write(&b))
	if b.String() != want {
		t.Fatalf("got\n%swant\n%s", b.String(), want)
	}
}
