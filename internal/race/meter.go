package race

import (
	"sync"
	"time"
)

// meter adds up what a box uses. Its counters begin anew when it starts again,
// so it is looked at before it may come to rest.
type meter struct {
	mu          sync.Mutex
	before, now time.Duration // of processors: until it last started, and since
	peak        int64         // of memory, in bytes
}

func (m *meter) look(b *bench) {
	s, err := b.boxes.Consumed(b.aside(), b.who, b.box.ID)
	if err != nil {
		return // it does not run, or nobody counts here
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.CPU < m.now {
		m.before += m.now
	}
	m.now, m.peak = s.CPU, max(m.peak, s.MemoryPeak, s.Memory)
}

// used is what the box has used so far.
func (m *meter) used() (cpu time.Duration, peak int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.before + m.now, m.peak
}
