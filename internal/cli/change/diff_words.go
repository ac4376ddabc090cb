package change

import (
	"bytes"

	"github.com/forkbox/forkbox/internal/review/patch"
)

// changedWords says which bytes of a removed line and of its counterpart
// differ, the sign in front counted. Lines with little in common are two
// different lines: marking nearly all of them would say nothing.
func changedWords(removed, added []byte) (gone, came []patch.Span) {
	old, new := firstLine(removed[1:]), firstLine(added[1:])
	gone, came = patch.Words(old, new)
	common := min(len(bytes.TrimSpace(old))-covered(gone), len(bytes.TrimSpace(new))-covered(came))
	if common*3 < max(len(old), len(new)) {
		return nil, nil
	}
	return shifted(gone), shifted(came)
}

func firstLine(text []byte) []byte {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return line
}

func covered(spans []patch.Span) (n int) {
	for _, s := range spans {
		n += s.To - s.From
	}
	return n
}

// shifted counts the sign.
func shifted(spans []patch.Span) []patch.Span {
	for i := range spans {
		spans[i].From++
		spans[i].To++
	}
	return spans
}
