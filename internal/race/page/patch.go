package page

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/forkbox/forkbox/internal/review/patch"
)

// line is one of a patch. Tone is its class: added, removed, hunk, head, or none
// for what stayed as it was.
type line struct{ Text, Tone string }

// patchLines makes a patch ready to be shown; more is how many lines it left
// out.
func patchLines(text []byte) (list []line, more int) {
	var reader patchReader
	for raw := range bytes.Lines(text) {
		if len(list) == mostLines {
			more++
			continue
		}
		raw = bytes.TrimSuffix(raw, []byte("\n"))
		list = append(list, line{Text: lineText(raw), Tone: reader.tone(string(raw[:min(len(raw), 100)]))})
	}
	return list, more
}

func lineText(raw []byte) string {
	kept, left := cut(string(raw), mostOfALine)
	text := strings.ReplaceAll(visible(strings.TrimSuffix(kept, "\r"), true), "\n", "")
	if strings.HasSuffix(kept, "\r") {
		text += "^M"
	}
	if left > 0 {
		text += fmt.Sprintf("… (%s more)", bytesText(int64(left)))
	}
	return text
}

// patchReader counts the lines of hunks: a removed line that reads "-- x" is no
// header, whatever it looks like.
type patchReader struct{ old, new int }

func (p *patchReader) tone(text string) string {
	inHunk := p.old > 0 || p.new > 0
	switch {
	case inHunk && strings.HasPrefix(text, "-"):
		p.old--
		return "removed"
	case inHunk && strings.HasPrefix(text, "+"):
		p.new--
		return "added"
	case strings.HasPrefix(text, "\\"):
		return "head"
	case inHunk:
		p.old--
		p.new--
		return ""
	case strings.HasPrefix(text, "@@ "):
		p.old, p.new = patch.HunkLines(text)
		return "hunk"
	}
	return "head"
}
