package gc

import (
	"sync"
	"time"

	"github.com/forkbox/forkbox"
)

// tally is what is remembered for scrapers: how often it was cleared away and how
// much, and what each owner's things took when that was last measured.
type tally struct {
	mu       sync.Mutex
	cleared  Cleared
	disk     map[int]int64
	measured time.Time
}

// Cleared is what was cleared away since the daemon began.
type Cleared struct {
	Runs, Boxes int
	Bytes       int64
}

// Cleared tells it.
func (m *Manager) Cleared() Cleared {
	m.tally.mu.Lock()
	defer m.tally.mu.Unlock()
	return m.tally.cleared
}

// Disk is what the things of each owner took, by uid, when that was last measured;
// nil where it was not yet. It looks at no file.
func (m *Manager) Disk() (byOwner map[int]int64, measured time.Time) {
	m.tally.mu.Lock()
	defer m.tally.mu.Unlock()
	return m.tally.disk, m.tally.measured
}

// addRun counts one run of gc.
func (t *tally) addRun(removed forkbox.EventData) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cleared.Runs++
	t.cleared.Boxes += removed.Count
	t.cleared.Bytes += removed.Bytes
}

// keepDisk remembers what was measured.
func (t *tally) keepDisk(h *holdings) {
	disk := map[int]int64{}
	for _, b := range h.boxes {
		disk[b.Owner.UID] = 0
	}
	for _, s := range h.snapshots {
		disk[s.Owner.UID] = 0
	}
	for _, template := range h.templates {
		disk[template.Owner.UID] = 0
	}
	for uid := range disk {
		disk[uid] = h.of(uid)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.disk, t.measured = disk, time.Now()
}
