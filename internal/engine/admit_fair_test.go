package engine

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

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

func waiting(uid int, memory int64, p forkbox.Priority) *waiter {
	return &waiter{want: Want{Owner: forkbox.Owner{UID: uid}, Start: true, Policy: mib(memory)}, priority: p}
}

// Who waits for more than there will ever be keeps nobody else waiting, but
// those of lower priority, and is told of nobody else's figures.
func TestNobodyStarvesTheOthers(t *testing.T) {
	q := newQueue(&fakePolicies{admit: room(1000 << 20)})
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

// A box must not grow while it waits for a place for a small one.
func TestGrownWhileItWaits(t *testing.T) {
	w := newGovernedWorld(newWorld(t))
	w.policies.with(func(p *fakePolicies) { p.admit, p.patience = room(1000<<20), time.Hour })
	memory := func(n int64) forkbox.Limits { return forkbox.Limits{forkbox.Memory: n << 20} }
	w.make("runs", memory(900))
	w.make("grows", memory(200))
	w.exec("runs")
	ctx, cancel := context.WithCancel(t.Context())
	started := w.execSoon(ctx, "grows", forkbox.Wish{Ticket: "grows"})
	_, err := w.Set(t.Context(), ada, "grows", forkbox.Wish{Limits: memory(1001)})
	check(t, err)
	_, err = w.Stop(t.Context(), ada, "runs", nil)
	check(t, err)
	w.eventually("it waits for the larger place", func() bool {
		got, ok := w.waits("grows")
		return ok && got.Why == fmt.Sprintf("0 and %d are more than %d", 1001<<20, 1000<<20)
	})
	cancel()
	if err := <-started; err == nil {
		t.Error("it was started with more than there is")
	}
}

func TestSpansDoNotOverflow(t *testing.T) {
	w := newGovernedWorld(newWorld(t))
	w.policies.with(func(p *fakePolicies) { p.floor = hours(4) })
	w.make("one", hours(2))
	for _, by := range []time.Duration{math.MaxInt64, math.MaxInt64 - time.Hour, longestSpan + 1, longestSpan} {
		if _, err := w.Extend(t.Context(), ada, "one", by); err == nil {
			t.Errorf("extended by %s", by)
		}
	}
	box, err := w.Box(t.Context(), ada, "one")
	if err != nil || w.clock.read().left(*box.Ends) != 2*time.Hour {
		t.Errorf("%+v, %v", box.Ends, err)
	}
	c := w.clock.read()
	if far := c.later(*c.in(math.MaxInt64), math.MaxInt64-1); c.left(*far) != longestSpan {
		t.Errorf("%s", c.left(*far))
	}
}
