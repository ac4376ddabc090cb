package race

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	_ "github.com/forkbox/forkbox/internal/seeded" // the same cases on every run
)

func TestLines(t *testing.T) {
	for text, want := range map[string]string{
		"plain é": "plain é", "a\tb": "a b", "a\nb": "a b", "\x1b[31m": `\u{1b}[31m`, "a\x00b": `a\u{0}b`, "\xff\xfe": `\xff\xfe`,
		"\u202e": `\u{202e}`, "\u009b": `\u{9b}`, "\u2028": `\u{2028}`, "": "",
	} {
		if got := line(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// Whatever is printed, a line is one, printable, and short.
func TestLinesAreTame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := rapid.SliceOf(rapid.Byte()).Draw(t, "data")
		if rapid.Bool().Draw(t, "long") {
			data = []byte(strings.Repeat(string(data), 200))
		}
		var last lastLine
		var all lastLines
		last.add(data)
		all.add(data)
		for _, text := range append(all.all(), last.last, line(string(data))) {
			if !utf8.ValidString(text) || len(text) > mostLine || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }) {
				t.Fatalf("%q", text)
			}
		}
	})
}

func TestLastLine(t *testing.T) {
	for text, want := range map[string]string{
		"one\ntwo\n": "two", "one\ntwo": "two", "one\n\n \n": "one", "10%\r50%\r100%\r": "100%", "10%\r\n": "10%",
		"\x1b[32mok\x1b[0m\n": "ok", "\x1b[2K\x1b[1G⠋ building": "⠋ building", "\n": "",
	} {
		var whole, bytewise lastLine
		whole.add([]byte(text))
		for i := range len(text) {
			bytewise.add([]byte(text[i : i+1]))
		}
		if whole.last != want || bytewise.last != want {
			t.Errorf("%q: %q, byte by byte %q, want %q", text, whole.last, bytewise.last, want)
		}
	}
	var long lastLine
	for range 100 {
		long.add([]byte(strings.Repeat("x", 1<<20)))
	}
	if len(long.piece) > mostPiece || len(long.last) > mostLine {
		t.Errorf("it holds %d bytes", len(long.piece))
	}
}
