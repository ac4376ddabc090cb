package limits

import (
	"context"
	"sync"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
)

// usage is the disk that a box takes, as it was last measured.
type usage struct {
	bytes, inodes int64
}

func (u usage) of(r forkbox.Resource) int64 {
	if r == forkbox.Inodes {
		return u.inodes
	}
	return u.bytes
}

// gauge is what this manager remembers of a running instance: what it uses. The
// handle's mu guards hits and written, the others guard themselves.
type gauge struct {
	meter   meter
	series  series
	hits    hits  // of limits, that were told
	written int64 // to disks, when that was last looked at
}

var gauges core.Slot[gauge]

// meter remembers it: where the host does not count, every file is looked at.
type meter struct {
	mu   sync.Mutex // held while measuring: one at a time
	last usage
	at   time.Time
	cost time.Duration
}

// share is how much of the time may go by with measuring: one part in so many.
const share = 10

// cheap is what measuring may cost without being noticed.
const cheap = 50 * time.Millisecond

// stale says whether it is time to measure again for a caller who wants to know
// it as of so long ago. As of now, it is where that is cheap.
func (m *meter) stale(now time.Time, age time.Duration) bool {
	if m.at.IsZero() || age == 0 && m.cost < cheap {
		return true
	}
	return now.Sub(m.at) >= max(age, share*m.cost)
}

// used is the disk that a box that runs takes, no older than age, unless to
// measure is too dear for that.
func (m *Manager) used(ctx context.Context, h *core.Handle, a *core.Attached, age time.Duration) (usage, error) {
	g := m.governor()
	if g == nil {
		return usage{}, forkbox.Errorf(forkbox.Unsupported, "measure", "provider %s does not know", m.core.Provider.Name())
	}
	meter := &gauges.Of(a).meter
	meter.mu.Lock()
	defer meter.mu.Unlock()
	begin := time.Now()
	if !meter.stale(begin, age) {
		return meter.last, nil
	}
	box, err := m.core.Ledger.Box(ctx, h.ID)
	if err != nil {
		return usage{}, err
	}
	if box, err = m.WithSaves(ctx, box); err != nil {
		return usage{}, err
	}
	bytes, inodes, err := g.Used(ctx, box)
	meter.at, meter.cost = time.Now(), time.Since(begin) // also of one that failed
	if err == nil {
		meter.last = usage{bytes, inodes}
	}
	return meter.last, err
}
