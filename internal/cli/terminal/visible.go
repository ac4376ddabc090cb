package terminal

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible is file content as a terminal may show it. It came from a box: an
// escape sequence could hide a line from review, and so could a character that
// turns the direction of writing. They are shown as cat -v and less show them.
func Visible(text []byte) string {
	var b strings.Builder
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, "<%02X>", text[0])
		case r == '\t' || r == '\n' || unicode.IsPrint(r):
			b.WriteRune(r)
		case r < ' ':
			b.WriteByte('^')
			b.WriteByte(byte(r) + '@')
		case r == 0x7f:
			b.WriteString("^?")
		case unicode.Is(unicode.Zs, r): // a space of another width
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "<U+%04X>", r)
		}
		text = text[n:]
	}
	return b.String()
}
