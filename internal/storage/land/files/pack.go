package files

import (
	"encoding/hex"
	"strings"
	"unicode/utf8"
)

// Pack makes a name fit for JSON, which would alter bytes that are not UTF-8.
// Each of them becomes a zero byte, which no name has, and two hex digits.
func Pack(name string) string {
	if utf8.ValidString(name) {
		return name
	}
	var b strings.Builder
	for len(name) > 0 {
		r, n := utf8.DecodeRuneInString(name)
		if r == utf8.RuneError && n == 1 {
			b.WriteByte(0)
			b.WriteString(hex.EncodeToString([]byte(name[:1])))
		} else {
			b.WriteString(name[:n])
		}
		name = name[n:]
	}
	return b.String()
}

// Unpack is the inverse of Pack.
func Unpack(s string) string {
	before, rest, packed := strings.Cut(s, "\x00")
	if !packed {
		return s
	}
	var b strings.Builder
	for ; packed; before, rest, packed = strings.Cut(rest, "\x00") {
		b.WriteString(before)
		if raw, err := hex.DecodeString(rest[:min(2, len(rest))]); err == nil {
			b.Write(raw)
		}
		rest = rest[min(2, len(rest)):]
	}
	b.WriteString(before)
	return b.String()
}
