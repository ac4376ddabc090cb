package limits

import (
	"fmt"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var day = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// fakePolicies limit nothing, and admit as the test says.
type fakePolicies struct {
	unlimited
	admit func(Committed, Want) Verdict
}

func (p *fakePolicies) Admit(now Committed, want Want) Verdict { return p.admit(now, want) }

// places admits so many that run at once, and so many of each user.
func places(all, each int) func(Committed, Want) Verdict {
	return func(now Committed, want Want) Verdict {
		switch {
		case now.Running >= all:
			return Verdict{Wait: true, Why: fmt.Sprintf("%d of %d boxes run", now.Running, all)}
		case now.ByUser[want.Owner.UID].Running >= each:
			return Verdict{Wait: true, Why: "you have as many as you may"}
		}
		return Verdict{OK: true}
	}
}

// room admits boxes whose memory limits fit together.
func room(all int64) func(Committed, Want) Verdict {
	return func(now Committed, want Want) Verdict {
		more := limitIn(want.Policy, forkbox.Memory)
		if want.Start && now.Memory+more > all {
			return Verdict{Wait: true, Why: fmt.Sprintf("%d and %d are more than %d", now.Memory, more, all)}
		}
		return Verdict{OK: true}
	}
}

func mib(n int64) forkbox.Policy {
	return forkbox.Policy{forkbox.Memory: {Value: n << 20, How: forkbox.Enforced}}
}
