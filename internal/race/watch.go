package race

import (
	"context"
	"sync"
	"time"

	"github.com/forkbox/forkbox"
)

const (
	watchAfter = 200 * time.Millisecond // how long an exec runs before it is watched
	outputGap  = 100 * time.Millisecond // between two lines of an approach
	usageEvery = 500 * time.Millisecond
)

// performance is an exec of an approach that runs.
type performance struct {
	lane  *lane
	exec  forkbox.Exec
	since time.Time
	done  chan struct{}
	seen  forkbox.Stats // when it was last measured
}

// noteBusy notes what an approach runs now.
func (r *scorecard) noteBusy(b *lane, x forkbox.Exec) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := &performance{lane: b, exec: x, since: time.Now(), done: make(chan struct{})}
	r.present[b.i] = p
	if r.watch != nil {
		go r.listenTo(r.watch, p)
	}
}

func (r *scorecard) noteIdle(b *lane) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.present[b.i]; p != nil {
		close(p.done)
		delete(r.present, b.i)
	}
}

// startWatch looks at what approaches print and use, as long as there are
// followers. The caller holds mu.
func (r *scorecard) startWatch() {
	r.watch, r.watching = context.WithCancel(r.ctx)
	for _, p := range r.present {
		go r.listenTo(r.watch, p)
	}
	go r.watchUsage(r.watch)
}

// endWatch is called with mu held.
func (r *scorecard) endWatch() {
	if r.watch != nil {
		r.watching()
		r.watch, r.watching = nil, nil
	}
}

// listenTo tells the last line that an exec printed, now and then.
func (r *scorecard) listenTo(ctx context.Context, p *performance) {
	if !wait(ctx, p.done, watchAfter-time.Since(p.since)) {
		return
	}
	heard := &hearsay{card: r, approach: p.lane.approachName()}
	defer heard.end()
	_ = r.boxes.Logs(ctx, r.who, p.lane.box.ID, p.exec.ID, true, func(rec forkbox.LogRecord) error {
		heard.add(rec.Data)
		return ctx.Err()
	})
}

// wait says whether so much time has passed before it was over.
func wait(ctx context.Context, over <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-over:
	case <-ctx.Done():
	}
	return false
}

// watchUsage tells what approaches use.
func (r *scorecard) watchUsage(ctx context.Context) {
	tick := time.NewTicker(usageEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		r.tellWaiting()
		for _, p := range r.performing() {
			r.measureUsage(ctx, p)
		}
	}
}

// tellWaiting says of approaches that should have begun by now that they wait:
// it is room that they lack.
func (r *scorecard) tellWaiting() {
	for i, e := range r.record().Entries {
		if e.Phase == forkbox.PhaseForking && time.Since(e.Started) > watchAfter {
			r.edit(i, func(e *forkbox.Entry) {
				if e.Phase == forkbox.PhaseForking {
					e.Phase = forkbox.PhaseWaiting
				}
			})
		}
	}
}

func (r *scorecard) performing() (all []*performance) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.present {
		if time.Since(p.since) >= watchAfter {
			all = append(all, p)
		}
	}
	return all
}

func (r *scorecard) measureUsage(ctx context.Context, p *performance) {
	now, err := r.boxes.Consumed(ctx, r.who, p.lane.box.ID)
	if err != nil {
		return
	}
	if now.Time.IsZero() {
		now.Time = time.Now()
	}
	before := p.seen
	p.seen = now
	e := forkbox.RaceEvent{Kind: forkbox.RaceUsage, Approach: p.lane.approachName(), Memory: now.Memory}
	// The first time there is nothing to compare with: the box may be older.
	if span := now.Time.Sub(before.Time); !before.Time.IsZero() && span > 0 && now.CPU >= before.CPU {
		e.CPU = float64(now.CPU-before.CPU) / float64(span) * 100
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tell(e)
}

// hearsay passes on what an exec prints: the last line, and not too often.
type hearsay struct {
	card     *scorecard
	approach string

	mu    sync.Mutex
	lines lastLine
	told  string
	when  time.Time   // that something was told
	later *time.Timer // until what came since is told
}

func (h *hearsay) add(data []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lines.add(data)
	if h.lines.last == h.told || h.later != nil {
		return
	}
	if left := outputGap - time.Since(h.when); left > 0 {
		h.later = time.AfterFunc(left, func() {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.later = nil
			h.tell()
		})
		return
	}
	h.tell()
}

// tell passes on the last line. The caller holds mu.
func (h *hearsay) tell() {
	if h.lines.last == h.told {
		return
	}
	h.told, h.when = h.lines.last, time.Now()
	h.card.mu.Lock()
	defer h.card.mu.Unlock()
	h.card.tell(forkbox.RaceEvent{Kind: forkbox.RaceOutput, Approach: h.approach, Line: h.told})
}

// end tells what is left.
func (h *hearsay) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.later != nil {
		h.later.Stop()
		h.later = nil
	}
	h.tell()
}

// meter adds up what a box uses. Its counters begin anew when it starts again,
// so it is looked at before it may come to rest.
type meter struct {
	mu          sync.Mutex
	before, now time.Duration // of processors: until it last started, and since
	peak        int64         // of memory, in bytes
}

func (m *meter) update(b *lane) {
	s, err := b.boxes.Consumed(b.uncancelled(), b.who, b.box.ID)
	if err != nil {
		return // it does not run, or its use is not counted here
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
