package race

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/app"
)

// printRaceJSON is printJSON for what has words of boxes in it.
func printRaceJSON(a *app.App, doc any) error { return encodeRace(a, doc, "  ") }

// printRaceLine is a document on a line of its own.
func printRaceLine(a *app.App, doc any) error { return encodeRace(a, doc, "") }

func encodeRace(a *app.App, doc any, indent string) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetIndent("", indent)
	enc.SetEscapeHTML(false)
	err := enc.Encode(doc)
	if err == nil {
		_, err = a.Stdout.Write(tameJSON(text.Bytes()))
	}
	return forkbox.Wrap("print", err)
}

// tameJSON escapes what a terminal might obey and JSON lets pass: the control
// characters above ASCII, and those that turn the direction of writing. They
// can only be in strings, where an escape means the same.
func tameJSON(text []byte) []byte {
	odd := func(r rune) bool { return r >= 0x7f && !unicode.IsPrint(r) }
	if bytes.IndexFunc(text, odd) < 0 {
		return text
	}
	var out bytes.Buffer
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		switch {
		case !odd(r):
			out.Write(text[:n])
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
		text = text[n:]
	}
	return out.Bytes()
}
