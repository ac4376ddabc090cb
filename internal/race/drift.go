package race

import (
	"fmt"
	"strings"
	"time"
)

const (
	mostLooked = 20_000 // files that are looked at
	shownDrift = 5      // paths that a note names
)

// describeDrift says, for people, whether files in the race's directory changed while
// it ran: approaches may have seen different bytes. Boxes that do not lie over
// reality see nothing of that.
func (r *race) describeDrift() []string {
	rec := r.record()
	dir := r.spec.Start.Dir
	if r.boxes.Workspace(dir) == "" || !r.overReality() {
		return nil
	}
	// The race's end does not wait long for it: a short race has had little
	// time to be disturbed in.
	budget := time.Millisecond + r.now().Sub(rec.Created)/50
	paths, more, cut := changedSince(dir, r.who, rec.Fence, mostLooked, time.Now().Add(min(budget, time.Second)))
	switch {
	case len(paths) == 0 && cut:
		return []string{"not all files of the race's directory were looked at: whether any changed in reality while it ran is not known"}
	case len(paths) == 0:
		return nil
	}
	names := make([]string, 0, shownDrift)
	for _, p := range paths[:min(len(paths), shownDrift)] {
		names = append(names, line(p))
	}
	if left := len(paths) - len(names); left > 0 || more {
		names = append(names, "others")
	}
	return []string{fmt.Sprintf("files changed in reality while the race ran, so approaches may have seen different ones: %s", strings.Join(names, ", "))}
}

func (r *race) overReality() bool {
	for _, b := range r.tries {
		if b != nil {
			return b.box.Base.IsReality()
		}
	}
	return false
}
