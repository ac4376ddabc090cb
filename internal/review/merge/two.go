package merge

import "github.com/forkbox/forkbox/internal/review/patch"

// Two brings together two versions of which nobody knows what they started
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
