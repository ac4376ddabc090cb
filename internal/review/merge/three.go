// Package merge brings together what two sides made of a file, line by line,
// the way git does. It is careful rather than clever: where the sides changed
// the same or touching lines in different ways, both versions are kept between
// markers, and no line of either side is ever lost.
package merge

import (
	"bytes"
	"slices"

	"github.com/forkbox/forkbox/internal/review/patch"
)

// Labels name the versions in the markers.
type Labels struct {
	Ours, Theirs string
	// Base, where it is set, has [Three] show what both sides started from as
	// well, between "|||||||" and "=======".
	Base string
}

// Result is a merged file.
type Result struct {
	Content   []byte
	Conflicts int // places with markers in Content
}

// Three merges the changes that ours and theirs made to base. A change that
// both made is taken once. Changes that touch, with no unchanged line between
// them, are a conflict unless both sides ended up with the same text. Where
// repeated lines leave open what a side changed, every line in question counts
// as changed; see [patch.CertainEdits].
func Three(base, ours, theirs []byte, labels Labels) Result {
	m := threeWay{base: patch.Split(base)}
	m.ours = side{lines: patch.Split(ours)}
	m.theirs = side{lines: patch.Split(theirs)}
	m.ours.edits = patch.CertainEdits(m.base, m.ours.lines)
	m.theirs.edits = patch.CertainEdits(m.base, m.theirs.lines)
	w := writer{labels: labels, ending: lineEnding(ours, theirs)}
	m.merge(&w)
	return w.result()
}

type threeWay struct {
	base         [][]byte
	ours, theirs side
}

// side is one side's version, with the edits that are not yet merged.
type side struct {
	lines [][]byte
	edits []patch.Edit
	moved int // by how many lines it is ahead of base after the merged edits
}

func (m *threeWay) merge(w *writer) {
	at := 0
	for len(m.ours.edits)+len(m.theirs.edits) > 0 {
		from, to := m.region()
		w.write(m.base[at:from])
		ours, weChanged := m.ours.take(from, to)
		theirs, theyChanged := m.theirs.take(from, to)
		switch {
		case !weChanged:
			w.write(theirs)
		case !theyChanged, equal(ours, theirs):
			w.write(ours)
		default:
			w.conflict(m.base[from:to], ours, theirs)
		}
		at = to
	}
	w.write(m.base[at:])
}

// region is the next range of base that at least one side changed, together
// with all changes of either side that touch it.
func (m *threeWay) region() (from, to int) {
	from = min(m.ours.next(), m.theirs.next())
	to = from
	for i, j := 0, 0; ; {
		switch {
		case m.ours.touches(i, to):
			to = max(to, m.ours.edits[i].OldTo)
			i++
		case m.theirs.touches(j, to):
			to = max(to, m.theirs.edits[j].OldTo)
			j++
		default:
			return from, to
		}
	}
}

// next is where in base the side's next edit begins; far away if it has none.
func (s *side) next() int {
	if len(s.edits) == 0 {
		return int(^uint(0) >> 1)
	}
	return s.edits[0].OldFrom
}

func (s *side) touches(i, to int) bool {
	return i < len(s.edits) && s.edits[i].OldFrom <= to
}

// take is the side's text for lines [from, to) of base, and whether it changed
// them. The edits in there are done with.
func (s *side) take(from, to int) (text [][]byte, changed bool) {
	start := from + s.moved
	for len(s.edits) > 0 && s.edits[0].OldFrom <= to {
		e := s.edits[0]
		s.moved = e.NewTo - e.OldTo
		s.edits, changed = s.edits[1:], true
	}
	return s.lines[start : to+s.moved], changed
}

func equal(a, b [][]byte) bool { return slices.EqualFunc(a, b, bytes.Equal) }

// Two brings together two versions of which it is not known what they started
// from: markers stand around every place where they differ. Labels.Base is not
// used, as there is none.
func Two(ours, theirs []byte, labels Labels) Result {
	labels.Base = ""
	w := writer{labels: labels, ending: lineEnding(ours, theirs)}
	a, b := patch.Split(ours), patch.Split(theirs)
	at := 0
	for _, e := range patch.Edits(a, b) {
		w.write(a[at:e.OldFrom])
		w.conflict(nil, a[e.OldFrom:e.OldTo], b[e.NewFrom:e.NewTo])
		at = e.OldTo
	}
	w.write(a[at:])
	return w.result()
}
