package merge

import (
	"bytes"
	"fmt"
)

// Again merges into a version that may still have conflicts of an earlier
// merge, and nests no markers: a conflict that theirs does not touch stays as
// it is, and of one that it does touch, ours is what our side was. base is nil
// where it is not known.
func Again(base, ours, theirs []byte, labels Labels) Result {
	folded, open := fold(ours)
	if len(open) == 0 || bytes.Contains(ours, []byte(standIn)) || bytes.Contains(theirs, []byte(standIn)) {
		folded, open = ours, nil
	}
	var m Result
	if base == nil {
		m = Two(folded, theirs, labels)
	} else {
		m = Three(base, folded, theirs, labels)
	}
	return unfold(m, open, labels)
}

// standIn begins the line that a conflict is while it is merged.
const standIn = "\x01forkbox conflict "

// conflict is one that a text has.
type conflict struct{ whole, ours []byte }

// fold replaces each whole conflict in text by a line that stands for it.
func fold(text []byte) ([]byte, []conflict) {
	var out, pending bytes.Buffer
	var list []conflict
	var now conflict
	wanted := oursMarker
	for line := range bytes.Lines(text) {
		if isMarker(line, oursMarker) { // one that was begun before has no end
			out.Write(pending.Bytes())
			pending.Reset()
			now, wanted = conflict{}, oursMarker
		}
		switch {
		case isMarker(line, wanted) && wanted == oursMarker:
			wanted = middleMarker
		case isMarker(line, wanted) && wanted == middleMarker:
			wanted = theirsMarker
		case isMarker(line, wanted):
			pending.Write(line)
			now.whole = bytes.Clone(pending.Bytes())
			fmt.Fprintf(&out, "%s%d\n", standIn, len(list))
			list = append(list, now)
			pending.Reset()
			now, wanted = conflict{}, oursMarker
			continue
		case wanted == middleMarker:
			now.ours = append(now.ours, line...)
		case wanted == oursMarker:
			out.Write(line)
			continue
		}
		pending.Write(line)
	}
	out.Write(pending.Bytes())
	return out.Bytes(), list
}

// unfold puts the conflicts back: as they were, or as the side of a new one.
func unfold(m Result, open []conflict, labels Labels) Result {
	if len(open) == 0 {
		return m
	}
	var out bytes.Buffer
	inside := false
	for line := range bytes.Lines(m.Content) {
		i := 0
		_, err := fmt.Sscanf(string(line), standIn+"%d", &i)
		switch {
		case err == nil && i < len(open) && inside:
			out.Write(open[i].ours)
			continue
		case err == nil && i < len(open):
			out.Write(open[i].whole)
			m.Conflicts++
			continue
		case bytes.HasPrefix(line, []byte(oursMarker+" "+oneLine(labels.Ours))):
			inside = true
		case isMarker(line, middleMarker):
			inside = false
		}
		out.Write(line)
	}
	m.Content = out.Bytes()
	return m
}
