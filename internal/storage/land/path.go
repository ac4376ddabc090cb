package land

import (
	"encoding/hex"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/forkbox/forkbox"
)

// checkPath refuses what could mean anything but one place.
func checkPath(p string) error {
	if !path.IsAbs(p) || path.Clean(p) != p || strings.IndexByte(p, 0) >= 0 {
		return forkbox.Errorf(forkbox.Invalid, opLand, "%q is not a clean absolute path", p)
	}
	return nil
}

func join(dir, name string) string {
	if strings.HasSuffix(dir, "/") {
		return dir + name
	}
	return dir + "/" + name
}

// rebase moves p from below one directory to below another.
func rebase(p, from, to string) string {
	rest := strings.TrimPrefix(p[len(strings.TrimSuffix(from, "/")):], "/")
	if rest == "" {
		return to
	}
	return join(to, rest)
}

// pack makes a name fit for JSON, which would alter bytes that are not UTF-8.
// Each of them becomes a zero byte, which no name has, and two hex digits.
func pack(name string) string {
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

// unpack is the inverse of pack.
func unpack(s string) string {
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
