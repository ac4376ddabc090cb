package engine

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
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
	for _, by := range []time.Duration{math.MaxInt64, math.MaxInt64 - time.Hour, core.LongestSpan + 1, core.LongestSpan} {
		if _, err := w.Extend(t.Context(), ada, "one", by); err == nil {
			t.Errorf("extended by %s", by)
		}
	}
	box, err := w.Box(t.Context(), ada, "one")
	if err != nil || w.clock.read().Left(*box.Ends) != 2*time.Hour {
		t.Errorf("%+v, %v", box.Ends, err)
	}
	c := w.clock.read()
	if far := c.Later(*c.In(math.MaxInt64), math.MaxInt64-1); c.Left(*far) != core.LongestSpan {
		t.Errorf("%s", c.Left(*far))
	}
}
