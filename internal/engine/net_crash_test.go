package engine

import (
	"context"
	"fmt"
	"testing"

	"github.com/forkbox/forkbox"
)

// netDeeds are what the network adds to a box's life.
var netDeeds = map[string]func(w *netWorld){
	"allow": func(w *netWorld) {
		w.Allow(context.Background(), ada, "one", []string{"allow a.example.com"}, false)
	},
	"publish": func(w *netWorld) { w.Publish(context.Background(), ada, "one", forkbox.Port{Box: 3000}) },
	"unpublish": func(w *netWorld) {
		w.Unpublish(context.Background(), ada, "one", forkbox.Port{Box: 3000})
	},
}

// The daemon is killed at every step of the life of a box with a gate. The next
// one leaves nothing behind, runs nothing without its gate, and publishes what
// it says is published.
func TestPromise6NothingOfANetworkLeaksWhenKilledAtAnyStep(t *testing.T) {
	life := []string{"create one", "publish", "exec", "allow", "stop", "exec", "unpublish", "publish", "remove", "create one", "exec", "remove"}
	w := newNetWorld(t)
	for _, after := range []bool{false, true} {
		for at, blown := 1, true; blown; at++ {
			w.reset()
			w.nets = newNets()
			f := &fuse{at: at, after: after}
			w.again(f)
			for _, deed := range life {
				if do, ok := netDeeds[deed]; ok {
					do(w)
				} else {
					deeds[deed](w.world)
				}
			}
			blown = f.isBlown()
			w.again(&fuse{})
			if err := w.netDisagreement(); err != nil {
				t.Fatalf("killed at step %d (after it: %v): %v", at, after, err)
			}
		}
	}
}

// netDisagreement is where the ledger, the host and its networks say different
// things.
func (w *netWorld) netDisagreement() error {
	if err := w.disagreement(); err != nil {
		return err
	}
	boxes, err := w.ledger.Boxes(context.Background(), nil)
	if err != nil {
		return err
	}
	w.nets.mu.Lock()
	defer w.nets.mu.Unlock()
	gates := 0
	for _, b := range boxes {
		runs := b.State == forkbox.Running
		switch {
		case !w.nets.prepared[b.ID]:
			return fmt.Errorf("what %s needs is gone", b.Name)
		case runs != (w.nets.gates[b.ID] != nil):
			return fmt.Errorf("%s is %s; has a gate: %v", b.Name, b.State, !runs)
		case runs && len(w.ports.of(b.ID)) != len(b.Network.Ports):
			return fmt.Errorf("%s publishes %v and should %v", b.Name, w.ports.of(b.ID), b.Network.Ports)
		case runs:
			gates++
		}
	}
	if len(w.nets.prepared) != len(boxes) || len(w.nets.gates) != gates {
		return fmt.Errorf("%d boxes; prepared %v, gates %v", len(boxes), w.nets.prepared, w.nets.gates)
	}
	return nil
}
