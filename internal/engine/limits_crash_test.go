package engine

import (
	"context"
	"fmt"
	"reflect"
	"testing"

	"github.com/forkbox/forkbox"
)

// The daemon is killed at every step of setting limits and of pausing. What the
// next one says is what holds.
func TestLimitsHoldAsWrittenWhenKilledAtAnyStep(t *testing.T) {
	w := newGovernedWorld(newWorld(t))
	for _, after := range []bool{false, true} {
		for at, blown := 1, true; blown; at++ {
			w.reset()
			f := &fuse{at: at, after: after}
			w.restart(f, w.configure)
			w.governedLife()
			blown = f.isBlown()
			w.again()
			if err := w.limitsDisagree(); err != nil {
				t.Fatalf("killed at step %d (after it: %v): %v", at, after, err)
			}
		}
	}
}

// governedLife ignores errors: a dead daemon returns nothing else.
func (g *governedWorld) governedLife() {
	ctx := context.Background()
	set := func(r forkbox.Resource, v int64) {
		_, _ = g.Set(ctx, ada, "one", forkbox.Wish{Limits: forkbox.Limits{r: v}})
	}
	run := func() { _, _ = g.Exec(ctx, ada, "one", command("sleep"), forkbox.Stdio{}) }
	_, _ = g.Create(ctx, ada, CreateSpec{Name: "one", Wish: forkbox.Wish{Limits: hours(1)}})
	set(forkbox.Memory, 1<<30)
	run()
	set(forkbox.Memory, 2<<30)
	_, _ = g.Pause(ctx, ada, "one")
	set(forkbox.Pids, 100)
	_, _ = g.Resume(ctx, ada, "one")
	_, _ = g.Extend(ctx, ada, "one", 1)
	_, _ = g.Pause(ctx, ada, "one")
	_, _ = g.Stop(ctx, ada, "one", nil)
	run()
	_, _ = g.Pause(ctx, ada, "one")
	_ = g.Remove(ctx, ada, "one", true)
}

func (g *governedWorld) limitsDisagree() error {
	if err := g.disagreement(); err != nil {
		return err
	}
	boxes, err := g.ledger.Boxes(context.Background(), nil)
	check(g.t, err)
	for _, b := range boxes {
		m := g.host.instance(b.ID)
		switch {
		case m == nil && b.Paused != "":
			return fmt.Errorf("%s is at rest and paused", b.Name)
		case m == nil:
		case m.isPaused() != (b.Paused != ""):
			return fmt.Errorf("it is written that %s is paused %q; stands still: %v", b.Name, b.Paused, m.isPaused())
		case !reflect.DeepEqual(g.host.held(b.ID), b.Policy):
			return fmt.Errorf("%+v is written, %+v holds", b.Policy, g.host.held(b.ID))
		}
	}
	return nil
}
