package race

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// mostLine is how many bytes of a line are shown.
const mostLine = 500

// line is foreign text as it can be shown on a terminal: one line, cut where it
// is long, with nothing in it that a terminal obeys.
func line(text string) string {
	var out strings.Builder
	for text != "" {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&out, `\x%02x`, text[0])
		case r == '\t' || r == '\n' || r == '\r':
			out.WriteByte(' ')
		case unicode.IsPrint(r):
			out.WriteString(text[:size])
		default:
			// Also what turns the direction of text around, or has no width.
			fmt.Fprintf(&out, `\u{%x}`, r)
		}
		if text = text[size:]; out.Len() > mostLine {
			break
		}
	}
	return clip(out.String(), mostLine)
}

// clip cuts valid UTF-8 to so many bytes, and shows that.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	end := most - len("…")
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}

// lastLine finds in what an exec prints the last line that says something. A
// line that was not ended yet counts, and of one that was written over, as
// progress bars are, the last piece. It holds a bounded part of a line, however
// long that is.
type lastLine struct {
	last  string
	piece []byte
}

// mostPiece is how much of a line is held: what is escaped becomes longer.
const mostPiece = mostLine

func (l *lastLine) add(data []byte) {
	for _, c := range data {
		switch {
		case c == '\n' || c == '\r':
			l.commit()
			l.piece = l.piece[:0]
		case len(l.piece) < mostPiece:
			l.piece = append(l.piece, c)
		}
	}
	l.commit()
}

func (l *lastLine) commit() {
	if text := strings.TrimSpace(uncoloured(string(l.piece))); text != "" {
		l.last = line(text)
	}
}

// uncoloured leaves out the sequences with which programs set colours and move
// the cursor: escaped they would be most of what is seen.
func uncoloured(text string) string {
	var out strings.Builder
	for {
		before, after, found := strings.Cut(text, "\x1b[")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		end := strings.IndexFunc(after, func(r rune) bool { return r >= 0x40 && r <= 0x7e })
		if end < 0 {
			return out.String() // it goes on in what is not here
		}
		text = after[end+1:]
	}
}

// mostLines is how many of the last lines of some output are shown.
const mostLines = 10

// lastLines are the last that something printed.
type lastLines struct {
	lines []string
	piece []byte
}

func (l *lastLines) add(data []byte) {
	for _, c := range data {
		if c == '\n' {
			l.commit()
		} else if len(l.piece) < mostPiece {
			l.piece = append(l.piece, c)
		}
	}
}

func (l *lastLines) commit() {
	var last lastLine
	last.add(l.piece)
	l.piece = l.piece[:0]
	if last.last == "" {
		return
	}
	if l.lines = append(l.lines, last.last); len(l.lines) > mostLines {
		l.lines = l.lines[1:]
	}
}

func (l *lastLines) all() []string {
	l.commit()
	return l.lines
}
