package limits

import (
	"testing"
)

// TestWhoeverWaitsIsNotSentAway: a box that ended is removed a moment later; who
// waited for that may not be told meanwhile that no box will make room.
func TestWhoeverWaitsIsNotSentAway(t *testing.T) {
	stuck := false
	p := &fakePolicies{admit: func(Committed, Want) Verdict { return Verdict{Wait: true, Stuck: stuck, Why: "full"} }}
	q := newLine(p)
	w := &waiter{}
	q.join(w)
	stuck = true
	q.Poke()
	if answered(w) {
		t.Errorf("it is refused: %v", w.refused)
	}
}
