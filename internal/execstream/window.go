package execstream

import (
	"sync"
	"sync/atomic"
)

// Window is what was written to a channel and not acknowledged yet. One
// goroutine writes, one reads.
type Window struct {
	mu      sync.Mutex
	changed sync.Cond
	limit   int

	ring  []byte // as large as was needed so far
	first int    // where in ring the oldest byte lies
	size  int
	start int64 // the offset of that byte: all before it is acknowledged

	ended   bool // nothing more is kept
	refused bool // and nothing more is wanted
	settled chan struct{}
	once    sync.Once
}

// NewWindow begins at an offset and keeps no more than limit bytes.
func NewWindow(start int64, limit int) *Window {
	w := &Window{limit: limit, start: start, settled: make(chan struct{})}
	w.changed.L = &w.mu
	return w
}

// Write returns when everything is in the window. Until then the writer waits
// for acknowledgements. What comes after End or Drop is not kept. It is false when
// the reader wants no more of it: then the writer's pipe has broken.
func (w *Window) Write(p []byte) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(p) > 0 {
		for w.size == w.limit && !w.ended {
			w.changed.Wait()
		}
		if w.ended {
			return !w.refused
		}
		n := w.put(p[:min(len(p), w.limit-w.size)])
		p = p[n:]
		w.changed.Broadcast()
	}
	return true
}

// put copies what there is room for.
func (w *Window) put(p []byte) int {
	if need := w.size + len(p); need > len(w.ring) {
		w.grow(need)
	}
	at := (w.first + w.size) % len(w.ring)
	n := copy(w.ring[at:], p)
	n += copy(w.ring, p[n:])
	w.size += n
	return n
}

func (w *Window) grow(need int) {
	room := max(len(w.ring), 4<<10)
	for room < need {
		room *= 2
	}
	ring := make([]byte, min(room, w.limit))
	n := copy(ring, w.ring[w.first:min(w.first+w.size, len(w.ring))])
	copy(ring[n:], w.ring[:w.size-n])
	w.ring, w.first = ring, 0
}

// Read waits for what comes after offset from and copies it, as much as there is
// room for. at is where that begins, which is later than from if the bytes there
// were acknowledged before they were read. It is 0 bytes when there will be no
// more, or stop is set; see Wake.
func (w *Window) Read(from int64, p []byte, stop *atomic.Bool) (at int64, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for from >= w.start+int64(w.size) && !w.ended && !stop.Load() {
		w.changed.Wait()
	}
	if stop.Load() {
		return from, 0
	}
	at = max(from, w.start)
	skip := int(at - w.start)
	n = min(len(p), w.size-skip)
	if n <= 0 {
		return at, 0
	}
	begin := (w.first + skip) % len(w.ring)
	got := copy(p[:n], w.ring[begin:])
	copy(p[got:n], w.ring)
	return at, n
}

// Wake has Read look at its stop again.
func (w *Window) Wake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.changed.Broadcast()
}

// Ack forgets everything before an offset.
func (w *Window) Ack(offset int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := int(min(offset-w.start, int64(w.size)))
	if n <= 0 {
		return
	}
	w.forget(n)
}

func (w *Window) forget(n int) {
	w.start += int64(n)
	w.size -= n
	if w.size == 0 {
		w.first = 0
	} else {
		w.first = (w.first + n) % len(w.ring)
	}
	w.checkSettled()
	w.changed.Broadcast()
}

// Start and End of what is kept, as offsets.
func (w *Window) bounds() (start, end int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.start, w.start + int64(w.size)
}

// End says that nothing more comes. What is there can still be read.
func (w *Window) End() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	w.checkSettled()
	w.changed.Broadcast()
}

// Drop forgets what is there as well: no reader wants it.
func (w *Window) Drop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	w.forget(w.size)
	w.ring = nil
}

// Refuse is Drop by a reader who wants no more.
func (w *Window) Refuse() {
	w.mu.Lock()
	w.refused = true
	w.mu.Unlock()
	w.Drop()
}

func (w *Window) checkSettled() {
	if w.ended && w.size == 0 {
		w.once.Do(func() { close(w.settled) })
	}
}

// Settled is closed when the window has ended and everything in it was
// acknowledged or dropped.
func (w *Window) Settled() <-chan struct{} { return w.settled }
