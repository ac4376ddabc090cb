package race

import "time"

// meter adds up what a box uses. Its counters begin anew when it starts again,
// so it is looked at before it may come to rest.
type meter struct {
	before, now time.Duration // of processors: until it last started, and since
	peak        int64         // of memory, in bytes
}

func (m *meter) look(b *bench) {
	s, err := b.boxes.Consumed(b.aside(), b.who, b.box.ID)
	if err != nil {
		return // it does not run, or nobody counts here
	}
	if s.CPU < m.now {
		m.before += m.now
	}
	m.now, m.peak = s.CPU, max(m.peak, s.MemoryPeak, s.Memory)
}

func (m *meter) cpu() time.Duration { return m.before + m.now }
