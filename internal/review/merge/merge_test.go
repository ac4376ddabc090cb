package merge

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var labels = Labels{Ours: "ours", Theirs: "theirs"}

func TestThree(t *testing.T) {
	const mark, mid, end = "<<<<<<< ours\n", "=======\n", ">>>>>>> theirs\n"
	for name, c := range map[string]struct {
		base, ours, theirs, want string
		conflicts                int
	}{
		"apart":              {"1\n2\n3\n", "one\n2\n3\n", "1\n2\nthree\n", "one\n2\nthree\n", 0},
		"touching":           {"1\n2\n", "one\n2\n", "1\ntwo\n", mark + "one\n2\n" + mid + "1\ntwo\n" + end, 1},
		"same line":          {"1\n2\n3\n", "1\na\n3\n", "1\nb\n3\n", "1\n" + mark + "a\n" + mid + "b\n" + end + "3\n", 1},
		"both the same":      {"1\n2\n3\n", "1\na\n3\n", "1\na\n3\n", "1\na\n3\n", 0},
		"partly the same":    {"1\n2\n3\n", "1\nx\na\ny\n3\n", "1\nx\nb\ny\n3\n", "1\nx\n" + mark + "a\n" + mid + "b\n" + end + "y\n3\n", 1},
		"deleted, changed":   {"1\n2\n3\n", "1\n3\n", "1\nb\n3\n", "1\n" + mark + mid + "b\n" + end + "3\n", 1},
		"both deleted":       {"1\n2\n3\n", "1\n3\n", "1\n3\n", "1\n3\n", 0},
		"both inserted":      {"1\n", "1\na\n", "1\nb\n", "1\n" + mark + "a\n" + mid + "b\n" + end, 1},
		"no final newline":   {"1\n2", "1\n2\n", "1\nb", "1\n" + mark + "2\n" + mid + "b\n" + end, 1},
		"newline added":      {"1\n2\n3", "1\n2\n3\n", "one\n2\n3", "one\n2\n3\n", 0},
		"newline taken":      {"1\n2\n3\n", "1\n2\n3", "one\n2\n3\n", "one\n2\n3", 0},
		"appended to no end": {"1\n2\n3", "1\n2\n3\n4", "one\n2\n3", "one\n2\n3\n4", 0},
		"empty base":         {"", "a\n", "b", mark + "a\n" + mid + "b\n" + end, 1},
		"all empty":          {"", "", "", "", 0},
		"emptied, changed":   {"1\n", "", "2\n", mark + mid + "2\n" + end, 1},
		"crlf":               {"1\r\n2\r\n", "a\r\n2\r\n", "b\r\n2\r\n", "<<<<<<< ours\r\na\r\n=======\r\nb\r\n>>>>>>> theirs\r\n2\r\n", 1},
	} {
		got := Three([]byte(c.base), []byte(c.ours), []byte(c.theirs), labels)
		if string(got.Content) != c.want || got.Conflicts != c.conflicts {
			t.Errorf("%s: %d conflicts\n%s\nnot %d\n%s", name, got.Conflicts, got.Content, c.conflicts, c.want)
		}
		if HasMarkers(got.Content) != (c.conflicts > 0) {
			t.Errorf("%s: HasMarkers is wrong", name)
		}
	}
}

func TestThreeShowsTheBaseWhereItHasALabel(t *testing.T) {
	got := Three([]byte("1\n2"), []byte("1\na\n"), []byte("1\nb\n"), Labels{Ours: "box\nx", Base: "fork", Theirs: "re\x1bality"})
	want := "1\n<<<<<<< box?x\na\n||||||| fork\n2\n=======\nb\n>>>>>>> re?ality\n"
	if string(got.Content) != want || got.Conflicts != 1 {
		t.Fatalf("%q", got.Content)
	}
}

func TestTwo(t *testing.T) {
	got := Two([]byte("1\na\n3\n4"), []byte("1\nb\n3\n4\n"), labels)
	want := "1\n<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n3\n<<<<<<< ours\n4\n=======\n4\n>>>>>>> theirs\n"
	if string(got.Content) != want || got.Conflicts != 2 {
		t.Fatalf("%d %q", got.Conflicts, got.Content)
	}
	if same := Two([]byte("1\n2"), []byte("1\n2"), labels); same.Conflicts != 0 || string(same.Content) != "1\n2" {
		t.Fatalf("%+v", same)
	}
}

func TestHasMarkers(t *testing.T) {
	for text, want := range map[string]bool{
		"":                                  false,
		"<<<<<<< a\n=======\n>>>>>>> b\n":   true,
		"<<<<<<<\r\n=======\r\n>>>>>>>\r\n": true,
		"x\n<<<<<<< a\nx\n||||||| o\n=======\ny\n>>>>>>> b":  true,
		"<<<<<<< a\n=======\n<<<<<<< in theirs\n>>>>>>> b\n": true,
		"<<<<<<< a\n=======\n":                               false,
		"Title\n=======\n\n>>>>>>> quoted mail\n":            false,
		">>>>>>> b\n=======\n<<<<<<< a\n":                    false,
		"<<<<<<<< a\n=======\n>>>>>>> b\n":                   false,
		" <<<<<<< a\n=======\n>>>>>>> b\n":                   false,
		"<<<<<<< a\n======= x\n>>>>>>> b\n":                  false,
		"<<<<<<< a\n========\n>>>>>>> b\n":                   false,
	} {
		if HasMarkers([]byte(text)) != want {
			t.Errorf("%q: not %v", text, want)
		}
	}
}

// versions draws a base and two versions of it. With repeats, lines such as "}"
// occur many times, as in source code.
func versions(t *rapid.T, repeats bool) (base, ours, theirs []byte) {
	serial := 0
	line := func() string {
		serial++
		if repeats && rapid.IntRange(0, 2).Draw(t, "repeat") == 0 {
			return rapid.SampledFrom([]string{"}\n", "\n", "\treturn\n"}).Draw(t, "line")
		}
		return fmt.Sprintf("%d\n", serial)
	}
	var list []string
	for range rapid.IntRange(0, 30).Draw(t, "lines") {
		list = append(list, line())
	}
	shared := line() // what both sides may come to
	change := func(name string) []byte {
		every := rapid.IntRange(1, 12).Draw(t, name)
		var out []string
		for _, l := range append(list, "") {
			kind := 0
			if rapid.IntRange(1, every).Draw(t, "hit") == 1 {
				kind = rapid.IntRange(1, 4).Draw(t, "kind")
			}
			switch kind {
			case 0:
				out = append(out, l)
			case 1: // deleted
			case 2:
				out = append(out, line(), l)
			case 3:
				out = append(out, line())
			case 4:
				out = append(out, shared)
			}
		}
		return open(t, strings.Join(out, ""))
	}
	return open(t, strings.Join(list, "")), change("ours"), change("theirs")
}

func open(t *rapid.T, text string) []byte {
	if rapid.IntRange(0, 4).Draw(t, "open") == 0 {
		text = strings.TrimSuffix(text, "\n")
	}
	return []byte(text)
}

func TestThreeAlgebra(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base, ours, theirs := versions(t, true)
		checkAlgebra(t, base, ours, theirs)
	})
}

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

func checkAlgebra(t fataler, base, ours, theirs []byte) {
	t.Helper()
	clean := func(law string, r Result, want []byte) {
		t.Helper()
		if r.Conflicts != 0 || !bytes.Equal(r.Content, want) {
			t.Fatalf("%s: %d conflicts, %q, not %q", law, r.Conflicts, r.Content, want)
		}
	}
	clean("only theirs changed", Three(base, base, theirs, labels), theirs)
	clean("only ours changed", Three(base, ours, base, labels), ours)
	clean("both the same", Three(base, ours, ours, labels), ours)
	there, back := Three(base, ours, theirs, labels), Three(base, theirs, ours, labels)
	if there.Conflicts != back.Conflicts || there.Conflicts == 0 && !bytes.Equal(there.Content, back.Content) {
		t.Fatalf("sides exchanged: %q, %q", there.Content, back.Content)
	}
	checkNothingLost(t, there, base, ours, theirs)
	checkBothSidesInTwo(t, ours, theirs)
}

// checkNothingLost: a line that a side has and base has not is in the result,
// as often as the side added it.
func checkNothingLost(t fataler, r Result, base, ours, theirs []byte) {
	t.Helper()
	was, is := tally(base), tally(r.Content)
	for _, side := range [][]byte{ours, theirs} {
		for line, n := range tally(side) {
			if was[line] == 0 && is[line] < n {
				t.Fatalf("line %q of a side is lost in %q", line, r.Content)
			}
		}
	}
}

func tally(text []byte) map[string]int {
	count := map[string]int{}
	for line := range strings.Lines(string(text)) {
		count[strings.TrimRight(line, "\r\n")]++
	}
	return count
}

// checkBothSidesInTwo takes Two's result apart again.
func checkBothSidesInTwo(t fataler, ours, theirs []byte) {
	t.Helper()
	if HasMarkers(ours) || HasMarkers(theirs) || bytes.Contains(append(ours, theirs...), []byte("\r")) {
		return
	}
	r := Two(ours, theirs, Labels{Ours: "\u2190", Theirs: "\u2192"})
	var a, b strings.Builder
	in := 0 // 1 in ours, 2 in theirs
	for line := range strings.Lines(string(r.Content)) {
		switch {
		case line == "<<<<<<< \u2190\n":
			in = 1
		case line == "=======\n" && in == 1:
			in = 2
		case line == ">>>>>>> \u2192\n":
			in = 0
		default:
			if in != 2 {
				a.WriteString(line)
			}
			if in != 1 {
				b.WriteString(line)
			}
		}
	}
	if !ended(a.String(), ours) || !ended(b.String(), theirs) {
		t.Fatalf("%q does not hold %q and %q", r.Content, ours, theirs)
	}
}

// ended compares but for a final newline, which a marker needs before it.
func ended(got string, want []byte) bool {
	return strings.TrimSuffix(got, "\n") == strings.TrimSuffix(string(want), "\n")
}

func FuzzThree(f *testing.F) {
	f.Add([]byte("1\n2\n3\n"), []byte("a\n2\n3"), []byte("1\n2\nb\n"))
	f.Add([]byte("1\n"), []byte(""), []byte("<<<<<<< x\n"))
	f.Fuzz(func(t *testing.T, base, ours, theirs []byte) {
		checkAlgebra(t, bytes.Clone(base), bytes.Clone(ours), bytes.Clone(theirs))
	})
}
