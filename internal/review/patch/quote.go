package patch

import (
	"fmt"
	"strings"
)

// named are the bytes that have an escape of their own.
var named = map[byte]byte{
	'\a': 'a', '\b': 'b', '\t': 't', '\n': 'n', '\v': 'v', '\f': 'f', '\r': 'r', '"': '"', '\\': '\\',
}

var unnamed = func() map[byte]byte {
	m := make(map[byte]byte, len(named))
	for c, escape := range named {
		m[escape] = c
	}
	return m
}()

// quote writes a path as git does with its default core.quotePath: in C-style
// quotes when it holds a control character, a quote, a backslash or a byte
// above 0x7f, otherwise as it is.
func quote(path string) string {
	if quoted, needed := quoted(path); needed {
		return quoted
	}
	return path
}

// quoted also tells whether git would quote.
func quoted(path string) (text string, needed bool) {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(path) {
		c := path[i]
		escape, hasName := named[c]
		switch {
		case hasName:
			b.Write([]byte{'\\', escape})
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&b, "\\%03o", c)
		default:
			b.WriteByte(c)
			continue
		}
		needed = true
	}
	b.WriteByte('"')
	return b.String(), needed
}

// unquote reads a quoted path at the start of text, which begins with a quote,
// and returns what follows it.
func unquote(text string) (path, rest string, ok bool) {
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch c := text[i]; c {
		case '"':
			return b.String(), text[i+1:], true
		case '\\':
			value, width := unescape(text[i+1:])
			if width == 0 {
				return "", "", false
			}
			b.WriteByte(value)
			i += width
		default:
			b.WriteByte(c)
		}
	}
	return "", "", false
}

// unescape reads what follows a backslash; width is 0 when it makes no sense.
func unescape(text string) (value byte, width int) {
	if text == "" {
		return 0, 0
	}
	if c, ok := unnamed[text[0]]; ok {
		return c, 1
	}
	if len(text) < 3 || text[0] > '3' {
		return 0, 0
	}
	for _, digit := range []byte(text[:3]) {
		if digit < '0' || digit > '7' {
			return 0, 0
		}
		value = value<<3 | (digit - '0')
	}
	return value, 3
}
