package gate

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/forkbox/forkbox"
)

// tidy is a verdict fit to be kept and read: a box says what it likes for a
// name, of any length and with any bytes.
func tidy(v forkbox.NetVerdict) forkbox.NetVerdict {
	t := &v.Target
	if t.Host != "" && !validName(t.Host) {
		t.Host = quoted(t.Host, 255)
		v.Remedy = "" // it would have people type that name
	}
	t.Method, t.Path = fit(t.Method, 32), fit(t.Path, 512)
	v.Why, v.Remedy = fit(v.Why, 1024), fit(v.Remedy, 1024)
	return v
}

// fit is a text of no more than some bytes, all of which can be printed.
func fit(text string, most int) string {
	if strings.IndexFunc(text, func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }) >= 0 {
		return quoted(text, most)
	}
	return cut(text, most)
}

func quoted(text string, most int) string { return cut(strconv.Quote(cut(text, most)), most) }

// cut is at most the first bytes of a text, of whole characters.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	text = text[:most-len("…")]
	for len(text) > 0 {
		if r, size := utf8.DecodeLastRuneInString(text); r != utf8.RuneError || size != 1 {
			break
		}
		text = text[:len(text)-1]
	}
	return text + "…"
}
