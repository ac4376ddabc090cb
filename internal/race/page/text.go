package page

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// How many bytes there are at most of one thing that a box or an author wrote.
const (
	mostName    = 120   // of an approach, a check, a command in a list
	mostPath    = 500   // of a file
	mostReason  = 2000  // why something is as it is
	mostPrompt  = 10000 // that an agent was asked
	mostOfALine = 1000  // of a patch
)

// short is one line of text from elsewhere, cut and with all of it to be seen.
func short(text string, most int) string {
	kept, left := cut(text, most)
	kept = visible(kept, false)
	if left > 0 {
		kept += "…"
	}
	return kept
}

// long is the same for text that may have lines.
func long(text string, most int) string {
	kept, left := cut(text, most)
	kept = visible(kept, true)
	if left > 0 {
		kept += fmt.Sprintf("… (%s more)", bytesText(int64(left)))
	}
	return kept
}

// cut keeps so many bytes at most, without splitting a character.
func cut(text string, most int) (kept string, left int) {
	if len(text) <= most {
		return text, 0
	}
	end := most
	for end > most-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end], len(text) - end
}

// visible shows what a browser would hide. A character that turns the direction
// of writing, or has no width, could make a line look like another one to its
// reviewer.
func visible(text string, lines bool) string {
	var b strings.Builder
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, "<%02X>", text[0])
		case unicode.IsPrint(r) || unicode.Is(unicode.Zs, r) || lines && (r == '\n' || r == '\t'):
			b.WriteRune(r)
		case r < ' ':
			b.WriteByte('^')
			b.WriteByte(byte(r) + '@')
		case r == 0x7f:
			b.WriteString("^?")
		default:
			fmt.Fprintf(&b, "<U+%04X>", r)
		}
		text = text[n:]
	}
	return b.String()
}

// counted is "1 file", "2 files".
func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
