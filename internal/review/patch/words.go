package patch

import (
	"unicode"
	"unicode/utf8"
)

// Span is the bytes [From, To) of a line.
type Span struct{ From, To int }

// Words tells which parts of a changed line differ, for colouring: the spans of
// the old line that are gone and those of the new line that came. Words,
// stretches of white space and single other characters are compared whole; a
// character is never cut.
func Words(old, new []byte) (oldSpans, newSpans []Span) {
	a, b := words(old), words(new)
	oldAt, newAt := starts(a), starts(b)
	for _, e := range Edits(a, b) {
		if e.OldFrom < e.OldTo {
			oldSpans = append(oldSpans, Span{oldAt[e.OldFrom], oldAt[e.OldTo]})
		}
		if e.NewFrom < e.NewTo {
			newSpans = append(newSpans, Span{newAt[e.NewFrom], newAt[e.NewTo]})
		}
	}
	return oldSpans, newSpans
}

// starts is where each word begins, and the end of the last.
func starts(words [][]byte) []int {
	list := make([]int, len(words)+1)
	for i, w := range words {
		list[i+1] = list[i] + len(w)
	}
	return list
}

func words(line []byte) [][]byte {
	var list [][]byte
	for len(line) > 0 {
		r, n := utf8.DecodeRune(line)
		kind := kindOf(r)
		for kind != single && n < len(line) {
			next, width := utf8.DecodeRune(line[n:])
			if kindOf(next) != kind {
				break
			}
			n += width
		}
		list, line = append(list, line[:n:n]), line[n:]
	}
	return list
}

type wordKind int

const (
	single wordKind = iota
	word
	blank
)

func kindOf(r rune) wordKind {
	switch {
	case r == '\n': // by itself, because a line may lack it
		return single
	case r == '_', unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r):
		return word
	case unicode.IsSpace(r):
		return blank
	}
	return single
}
