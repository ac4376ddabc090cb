package engine

import (
	"context"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/forkbox/forkbox"
	_ "github.com/forkbox/forkbox/internal/seeded" // the same cases on every run
)

// deeds are what the crash tests let a daemon die at. They ignore errors: a
// dead daemon returns nothing else.
var deeds = map[string]func(w *world){
	"create one": func(w *world) { w.Create(context.Background(), ada, CreateSpec{Name: "one"}) },
	"create two": func(w *world) { w.Create(context.Background(), bob, CreateSpec{}) },
	"exec": func(w *world) {
		w.Exec(context.Background(), ada, "one", command("sleep"), forkbox.Stdio{})
	},
	"exec nonsense": func(w *world) {
		w.Exec(context.Background(), ada, "one", command("nonsense"), forkbox.Stdio{})
	},
	"end of execs": func(w *world) {
		for _, m := range w.host.all() {
			for i := range 9 {
				m.exit(fmt.Sprint(i+1), forkbox.Exit{Cause: forkbox.CauseExited})
			}
		}
	},
	"start":  func(w *world) { w.Start(context.Background(), ada, "one") },
	"stop":   func(w *world) { w.Stop(context.Background(), ada, "one", nil) },
	"remove": func(w *world) { w.Remove(context.Background(), ada, "one", true) },
}

func (h *host) all() (all []*machine) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, m := range h.instances {
		all = append(all, m)
	}
	return all
}

var life = []string{"create one", "create two", "exec", "exec nonsense", "end of execs", "exec", "stop",
	"start", "exec", "remove", "create one", "exec", "end of execs", "remove"}

// The daemon is killed at every step of a box's life, right before the step
// has its effect and right after. The next daemon leaves nothing of it.
func TestPromise6NothingLeaksWhenKilledAtAnyStep(t *testing.T) {
	w := newWorld(t)
	for _, after := range []bool{false, true} {
		for at, blown := 1, true; blown; at++ {
			w.reset()
			f := &fuse{at: at, after: after}
			w.restart(f)
			for _, deed := range life {
				deeds[deed](w)
			}
			blown = f.isBlown()
			w.restart(&fuse{})
			if err := w.disagreement(); err != nil {
				t.Fatalf("killed at step %d (after it: %v): %v", at, after, err)
			}
		}
	}
}

// The same for lives made up at random, and for a daemon that is killed while it
// clears up after one that was killed.
func TestPromise6NothingLeaksInAnyLife(t *testing.T) {
	names := []string{"create one", "create two", "exec", "exec nonsense", "end of execs", "start", "stop", "remove"}
	w := newWorld(t)
	rapid.Check(t, func(r *rapid.T) {
		w.reset()
		for range rapid.IntRange(1, 3).Draw(r, "crashes") {
			w.restart(&fuse{at: rapid.IntRange(1, 25).Draw(r, "at"), after: rapid.Bool().Draw(r, "after")})
			for _, deed := range rapid.SliceOfN(rapid.SampledFrom(names), 1, 8).Draw(r, "life") {
				deeds[deed](w)
			}
		}
		w.restart(&fuse{})
		if err := w.disagreement(); err != nil {
			r.Fatal(err)
		}
	})
}

// reset empties the ledger and the host.
func (w *world) reset() {
	w.stopEngine()
	w.host, w.Engine = newHost(), nil
	boxes, err := w.ledger.Boxes(context.Background(), nil)
	check(w.t, err)
	for _, b := range boxes {
		check(w.t, w.ledger.DeleteBox(context.Background(), b.ID))
	}
}

// disagreement is where the ledger and the host say different things.
func (w *world) disagreement() error {
	boxes, err := w.ledger.Boxes(context.Background(), nil)
	if err != nil {
		return err
	}
	w.host.mu.Lock()
	defer w.host.mu.Unlock()
	running := 0
	for _, b := range boxes {
		m := w.host.instances[b.ID]
		switch {
		case b.State != forkbox.Stopped && b.State != forkbox.Running:
			return fmt.Errorf("%s is still %s", b.Name, b.State)
		case !w.host.stored[b.ID]:
			return fmt.Errorf("%s has lost its data", b.Name)
		case (b.State == forkbox.Running) != (m != nil):
			return fmt.Errorf("%s is %s in the ledger; has an instance: %v", b.Name, b.State, m != nil)
		}
		if m != nil {
			running++
		}
		if err := w.execsDisagree(b, m); err != nil {
			return err
		}
	}
	if len(w.host.stored) != len(boxes) || len(w.host.instances) != running {
		return fmt.Errorf("%d boxes in the ledger and %d stored; %d running there and %d here",
			len(boxes), len(w.host.stored), running, len(w.host.instances))
	}
	return nil
}

func (w *world) execsDisagree(b forkbox.Box, m *machine) error {
	execs, err := w.ledger.Execs(context.Background(), b.ID)
	if err != nil {
		return err
	}
	for _, x := range execs {
		runs := m != nil && m.running[x.ID]
		if runs != (x.Exit == nil) {
			return fmt.Errorf("exec %s of %s has exit %v in the ledger; runs: %v", x.ID, b.Name, x.Exit, runs)
		}
	}
	return nil
}
