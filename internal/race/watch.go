package race

import (
	"context"
	"time"

	"github.com/forkbox/forkbox"
)

const (
	watchAfter = 200 * time.Millisecond // how long an exec runs before anybody looks at it
	outputGap  = 100 * time.Millisecond // between two lines of an approach
	usageEvery = 500 * time.Millisecond
)

// performance is an exec of an approach that runs.
type performance struct {
	bench *bench
	exec  forkbox.Exec
	since time.Time
	done  chan struct{}
	seen  forkbox.Stats // when it was last measured
}

// busy says what an approach runs now.
func (r *race) busy(b *bench, x forkbox.Exec) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := &performance{bench: b, exec: x, since: time.Now(), done: make(chan struct{})}
	r.present[b.i] = p
	if r.watch != nil {
		go r.listenTo(r.watch, p)
	}
}

func (r *race) idle(b *bench) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.present[b.i]; p != nil {
		close(p.done)
		delete(r.present, b.i)
	}
}

// startWatch looks at what approaches print and use, as long as somebody
// follows. The caller holds mu.
func (r *race) startWatch() {
	r.watch, r.watching = context.WithCancel(r.ctx)
	for _, p := range r.present {
		go r.listenTo(r.watch, p)
	}
	go r.watchUsage(r.watch)
}

// endWatch is called with mu held.
func (r *race) endWatch() {
	if r.watch != nil {
		r.watching()
		r.watch, r.watching = nil, nil
	}
}

// listenTo tells the last line that an exec printed, now and then.
func (r *race) listenTo(ctx context.Context, p *performance) {
	if !wait(ctx, p.done, watchAfter-time.Since(p.since)) {
		return
	}
	heard := &hearsay{race: r, approach: p.bench.approachName()}
	defer heard.end()
	_ = r.boxes.Logs(ctx, r.who, p.bench.box.ID, p.exec.ID, true, func(rec forkbox.LogRecord) error {
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
func (r *race) watchUsage(ctx context.Context) {
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
func (r *race) tellWaiting() {
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

func (r *race) performing() (all []*performance) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.present {
		if time.Since(p.since) >= watchAfter {
			all = append(all, p)
		}
	}
	return all
}

func (r *race) measureUsage(ctx context.Context, p *performance) {
	now, err := r.boxes.Consumed(ctx, r.who, p.bench.box.ID)
	if err != nil {
		return
	}
	if now.Time.IsZero() {
		now.Time = time.Now()
	}
	before := p.seen
	p.seen = now
	e := forkbox.RaceEvent{Kind: forkbox.RaceUsage, Approach: p.bench.approachName(), Memory: now.Memory}
	// The first time there is nothing to compare with: the box may be older.
	if span := now.Time.Sub(before.Time); !before.Time.IsZero() && span > 0 && now.CPU >= before.CPU {
		e.CPU = float64(now.CPU-before.CPU) / float64(span) * 100
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tell(e)
}
