package engine

import (
	"testing"

	"github.com/forkbox/forkbox"
)

// TestStatusWithoutAReality: what a box has that was made of something else does
// not move on, and of one that came from elsewhere only what it changed is
// compared. Nothing else of this machine is told as changed.
func TestStatusWithoutAReality(t *testing.T) {
	l := newLab(t)
	l.real("plain", "1\n")
	l.real("edited", "1\n")
	for name, c := range map[string]struct {
		base   forkbox.Base
		behind int
	}{
		"fork":     {forkbox.Base{Kind: forkbox.Reality}, 2},
		"own":      {forkbox.Base{Kind: "dir", Root: l.uppers}, 0},
		"imported": {forkbox.Base{Kind: forkbox.Reality, Fence: forkbox.NeverFenced}, 1},
	} {
		box := l.box(name, "edited", "2\n")
		if c.base.Fence.IsZero() {
			c.base.Fence = box.Base.Fence
		}
		box.Base = c.base
		check(t, l.ledger.UpdateBox(t.Context(), box))
		l.real("plain", "3\n")
		l.real("edited", "3\n")
		s, err := l.Status(t.Context(), me, name)
		check(t, err)
		if s.Behind != c.behind || len(s.Drift) != c.behind || s.Changes.Total != 1 {
			t.Errorf("%s: %d behind, %d changes, %+v", name, s.Behind, s.Changes.Total, s.Drift)
		}
	}
}
