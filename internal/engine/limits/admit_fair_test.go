package limits

import (
	"testing"

	"github.com/forkbox/forkbox"
)

func waiting(uid int, memory int64, p forkbox.Priority) *waiter {
	return &waiter{want: Want{Owner: forkbox.Owner{UID: uid}, Start: true, Policy: mib(memory)}, priority: p}
}

// A request for more than there will ever be keeps no other waiting, but those
// of lower priority, and is not told another user's figures.
func TestNobodyStarvesTheOthers(t *testing.T) {
	q := newLine(&fakePolicies{admit: room(1000 << 20)})
	runs, greedy := waiting(1, 150, ""), waiting(1, 900, "")
	own, other, low := waiting(1, 10, ""), waiting(2, 64, ""), waiting(3, 64, forkbox.LowPriority)
	for _, w := range []*waiter{runs, greedy, own, other, low} {
		q.join(w)
	}
	for w, want := range map[*waiter]bool{runs: true, greedy: false, own: false, other: true, low: false} {
		if answered(w) != want {
			t.Errorf("user %d with %v: %v, %q", w.want.Owner.UID, w.want.Policy, !want, w.why)
		}
	}
	if own.why != "others wait before it" {
		t.Errorf("%q", own.why)
	}
}
