package merge

import (
	"bytes"
	"strings"
	"unicode"
)

const (
	oursMarker   = "<<<<<<<"
	baseMarker   = "|||||||"
	middleMarker = "======="
	theirsMarker = ">>>>>>>"
)

// writer puts the merged file together.
type writer struct {
	labels    Labels
	ending    string // of the marker lines
	out       bytes.Buffer
	conflicts int
}

func (w *writer) result() Result { return Result{Content: w.out.Bytes(), Conflicts: w.conflicts} }

func (w *writer) write(lines [][]byte) {
	for _, line := range lines {
		w.out.Write(line)
	}
}

// conflict writes both sides between markers; lines that both begin or end with
// stand outside.
func (w *writer) conflict(base, ours, theirs [][]byte) {
	start := 0
	for start < min(len(ours), len(theirs)) && bytes.Equal(ours[start], theirs[start]) {
		start++
	}
	end := 0
	for end < min(len(ours), len(theirs))-start && bytes.Equal(ours[len(ours)-1-end], theirs[len(theirs)-1-end]) {
		end++
	}
	w.write(ours[:start])
	w.writeMarked(base, ours[start:len(ours)-end], theirs[start:len(theirs)-end])
	w.write(ours[len(ours)-end:])
}

func (w *writer) writeMarked(base, ours, theirs [][]byte) {
	w.conflicts++
	w.marker(oursMarker, w.labels.Ours)
	w.writeEnded(ours)
	if w.labels.Base != "" {
		w.marker(baseMarker, w.labels.Base)
		w.writeEnded(base)
	}
	w.marker(middleMarker, "")
	w.writeEnded(theirs)
	w.marker(theirsMarker, w.labels.Theirs)
}

// writeEnded writes lines with an end to the last, because a marker follows.
func (w *writer) writeEnded(lines [][]byte) {
	w.write(lines)
	if n := len(lines); n > 0 && !bytes.HasSuffix(lines[n-1], []byte("\n")) {
		w.out.WriteString(w.ending)
	}
}

func (w *writer) marker(marker, label string) {
	if label != "" {
		marker += " " + oneLine(label)
	}
	w.out.WriteString(marker + w.ending)
}

// oneLine keeps a label, which may hold a file's name, from breaking the line.
func oneLine(label string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '?'
		}
		return r
	}, label)
}

// lineEnding is that of the first line in either version, so that markers do
// not mix endings in a file that has CRLF.
func lineEnding(versions ...[]byte) string {
	for _, text := range versions {
		if line, _, found := bytes.Cut(text, []byte("\n")); found {
			if bytes.HasSuffix(line, []byte("\r")) {
				return "\r\n"
			}
			return "\n"
		}
	}
	return "\n"
}

// HasMarkers says whether text holds a whole conflict as this package and git
// write it: the three markers, in order, each at the start of a line.
func HasMarkers(text []byte) bool {
	wanted := []string{oursMarker, middleMarker, theirsMarker}
	for line := range bytes.Lines(text) {
		if isMarker(line, wanted[0]) {
			wanted = wanted[1:]
		}
		if len(wanted) == 0 {
			return true
		}
	}
	return false
}

// isMarker says whether a line is the marker alone or with a label. The middle
// one has no label: "======= x" may be a heading.
func isMarker(line []byte, marker string) bool {
	rest, ok := bytes.CutPrefix(line, []byte(marker))
	rest = bytes.TrimRight(rest, "\r\n")
	return ok && (len(rest) == 0 || rest[0] == ' ' && marker != middleMarker)
}

// Marked are the whole conflicts in text that were written with these labels,
// from the first marker to the last.
func Marked(text []byte, labels Labels) (list [][]byte) {
	first, last := Opening(labels), theirsMarker+" "+oneLine(labels.Theirs)
	at, begun, halfway := 0, -1, false
	for line := range bytes.Lines(text) {
		switch word := string(bytes.TrimRight(line, "\r\n")); {
		case word == first:
			begun, halfway = at, false
		case begun >= 0 && word == middleMarker:
			halfway = true
		case begun >= 0 && halfway && word == last:
			list = append(list, text[begun:at+len(line)])
			begun = -1
		}
		at += len(line)
	}
	return list
}

// Opening is the line that a conflict with these labels begins with.
func Opening(labels Labels) string { return oursMarker + " " + oneLine(labels.Ours) }
