package daemon

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/internal/metrics"
)

// observe begins to count, before the engine's first operation.
func (k *keeper) observe() {
	k.metrics = metrics.New(metrics.Source{
		Boxes: func() map[string]int {
			counts := map[string]int{}
			states, _ := k.ledger.CountBoxes(context.Background()) // a ledger that fails is told by its part
			for state, n := range states {
				counts[string(state)] = n
			}
			return counts
		},
		Waiting: func() int { return k.Waiting() },
		Free: func() float64 {
			free, _, _, _ := k.store.HostFree()
			return float64(free)
		},
		Disk:    func() (map[int]int64, time.Time) { return k.Disk() },
		Decided: k.networks.Decisions,
		Cleared: func() (runs, boxes int, bytes int64) {
			c := k.Engine.Cleared()
			return c.Runs, c.Boxes, c.Bytes
		},
	})
	k.ledger.OnWrite(k.metrics.Write)
}

// Metrics are what the daemon counts.
func (k *keeper) Metrics() *metrics.Metrics { return k.metrics }

// leastFree is how much of its disk a store needs to be of any use.
const leastFree = 16 << 20

// Parts say how each part of the daemon does.
func (k *keeper) Parts(ctx context.Context) []api.Part {
	reserve := part("reserve", nil)
	if short, why := k.Short(); short {
		reserve = api.Part{Name: "reserve", Why: why}
	}
	return []api.Part{part("provider", k.probed.ask(ctx, k.provider)), part("store", k.checkStore()), part("ledger", k.ledger.Check(ctx)), reserve}
}

func (k *keeper) checkStore() error {
	free, inodes, _, err := k.store.HostFree()
	switch {
	case err != nil:
		return err
	case free < leastFree || inodes == 0:
		return errors.New("the disk that boxes lie on is full")
	}
	return k.store.Check()
}

// probedFor is how long it counts that the provider was tried: that starts a
// process, and anyone may ask.
const probedFor = 5 * time.Second

// probed remembers whether a box would start.
type probed struct {
	mu    sync.Mutex
	err   error
	until time.Time
}

func (p *probed) ask(ctx context.Context, of provider) error {
	probe, ok := of.(prober)
	if !ok {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Now().After(p.until) {
		p.err, p.until = probe.Probe(ctx), time.Now().Add(probedFor)
	}
	return p.err
}

func part(name string, err error) api.Part {
	if err != nil {
		return api.Part{Name: name, Why: err.Error()}
	}
	return api.Part{Name: name, OK: true}
}
