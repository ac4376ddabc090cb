package patch

import (
	"bytes"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// bracketed puts brackets around spans.
func bracketed(line []byte, spans []Span) string {
	var b bytes.Buffer
	at := 0
	for _, s := range spans {
		b.Write(line[at:s.From])
		b.WriteString("[" + string(line[s.From:s.To]) + "]")
		at = s.To
	}
	b.Write(line[at:])
	return b.String()
}

func TestWords(t *testing.T) {
	for _, c := range []struct{ old, new, wantOld, wantNew string }{
		{"return foo(a, b)\n", "return bar(a, c)\n", "return [foo](a, [b])\n", "return [bar](a, [c])\n"},
		{"x := 1\n", "x := 1 // one\n", "x := 1\n", "x := 1[ // one]\n"},
		{"same\n", "same\n", "same\n", "same\n"},
		{"end", "end\n", "end", "end[\n]"},
		{"größe = 1", "grösse = 1", "[größe] = 1", "[grösse] = 1"},
		{"a  b", "a b", "a[  ]b", "a[ ]b"},
		{"", "new", "", "[new]"},
		{"\xff\xfe", "\xff\xfd", "\xff[\xfe]", "\xff[\xfd]"},
	} {
		a, b := Words([]byte(c.old), []byte(c.new))
		if gotOld, gotNew := bracketed([]byte(c.old), a), bracketed([]byte(c.new), b); gotOld != c.wantOld || gotNew != c.wantNew {
			t.Errorf("%q %q: %q %q", c.old, c.new, gotOld, gotNew)
		}
	}
}

// Without what differs, both lines are the same; spans are in order, apart, and
// cut no character.
func TestWordsLeaveWhatIsEqual(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.SampledFrom([]string{"a", "b", "é", " ", "\t", "(", "_1", "日本", "\xff", "\n"})
		line := rapid.Map(rapid.SliceOfN(part, 0, 30), func(p []string) []byte {
			var b bytes.Buffer
			for _, s := range p {
				b.WriteString(s)
			}
			return b.Bytes()
		})
		old, new := line.Draw(t, "old"), line.Draw(t, "new")
		a, b := Words(old, new)
		if x, y := without(t, old, a), without(t, new, b); !bytes.Equal(x, y) {
			t.Fatalf("%q is left of one and %q of the other", x, y)
		}
	})
}

func without(t *rapid.T, line []byte, spans []Span) []byte {
	var rest []byte
	at := 0
	for i, s := range spans {
		if s.From < at || i > 0 && s.From == at || s.To <= s.From || s.To > len(line) {
			t.Fatalf("spans %v", spans)
		}
		if utf8.Valid(line) && (!utf8.Valid(line[:s.From]) || !utf8.Valid(line[:s.To])) {
			t.Fatalf("spans %v cut a character of %q", spans, line)
		}
		rest = append(rest, line[at:s.From]...)
		at = s.To
	}
	return append(rest, line[at:]...)
}
