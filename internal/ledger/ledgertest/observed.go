package ledgertest

import (
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

func boxesAreCounted(t *testing.T, l forkbox.Ledger) {
	one, two, three := Box("aaaaaaaaaaaa", "one", 1000), Box("bbbbbbbbbbbb", "two", 1000), Box("cccccccccccc", "three", 1001)
	one.State, two.State, three.State = forkbox.Stopped, forkbox.Running, forkbox.Stopped
	add(t, l, one, two, three)
	got, err := l.CountBoxes(t.Context())
	noError(t, err)
	equal(t, got, map[forkbox.State]int{forkbox.Stopped: 2, forkbox.Running: 1})
}

func checkChangesNothing(t *testing.T, l forkbox.Ledger) {
	b := Box("aaaaaaaaaaaa", "one", 1000)
	add(t, l, b)
	before, err := l.LastEvent(t.Context())
	noError(t, err)
	noError(t, l.Check(t.Context()))
	noError(t, l.Check(t.Context()))
	got, err := l.Box(t.Context(), b.ID)
	noError(t, err)
	equal(t, got, b)
	after, err := l.LastEvent(t.Context())
	noError(t, err)
	equal(t, after, before)
}

func writesAreTimed(t *testing.T, l forkbox.Ledger) {
	var writes int
	l.OnWrite(func(took time.Duration) {
		if took < 0 {
			t.Errorf("a write took %v", took)
		}
		writes++
	})
	add(t, l, Box("aaaaaaaaaaaa", "one", 1000))
	_, err := l.Boxes(t.Context(), nil)
	noError(t, err)
	if writes != 1 {
		t.Errorf("one write and one reading were told as %d writes", writes)
	}
}
