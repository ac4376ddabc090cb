package engine

import (
	"context"
	"sync"
	"time"

	"github.com/forkbox/forkbox"
)

const (
	statsLimit = 5 * time.Second  // how long an instance may take to answer
	diskAge    = 10 * time.Second // how old the figure of the disk may be
	manyAtOnce = 8                // boxes are asked at the same time
)

// Stats is what a box uses, with series also what it used in the last hour. Of
// one at rest it is what was last measured, and the disk that it takes.
func (e *Engine) Stats(ctx context.Context, who forkbox.Owner, ref string, series bool) (forkbox.BoxStats, error) {
	ctx, end, err := e.begin(ctx, "measure box")
	if err != nil {
		return forkbox.BoxStats{}, err
	}
	defer end()
	box, err := e.resolve(ctx, who, ref)
	if err != nil {
		return forkbox.BoxStats{}, err
	}
	s, err := e.statsOf(ctx, box, true)
	switch {
	case !series:
		s.Series = nil
	case s.Series == nil:
		s.Series = []forkbox.Stats{} // asked for, and nothing was measured
	}
	return s, forkbox.Wrap("measure box", err)
}

// AllStats is what all of who's boxes use. Of those at rest it says only that
// they are: to look at the files of ten thousand would take long.
func (e *Engine) AllStats(ctx context.Context, who forkbox.Owner) ([]forkbox.BoxStats, error) {
	ctx, end, err := e.begin(ctx, "measure boxes")
	if err != nil {
		return nil, err
	}
	defer end()
	boxes, err := e.ledger.Boxes(ctx, &who.UID)
	if err != nil {
		return nil, err
	}
	all := make([]forkbox.BoxStats, len(boxes))
	var wg sync.WaitGroup
	places := make(chan struct{}, manyAtOnce)
	for i, box := range boxes {
		all[i] = described(box)
		if box.State != forkbox.Running {
			continue
		}
		places <- struct{}{}
		wg.Go(func() {
			defer func() { <-places }()
			if s, err := e.statsOf(ctx, box, false); err == nil {
				s.Series = nil
				all[i] = s
			}
		})
	}
	wg.Wait()
	return all, nil
}

func described(box forkbox.Box) forkbox.BoxStats {
	return forkbox.BoxStats{Box: box.ID, Name: box.Name, State: box.State, Paused: box.Paused, Policy: box.Policy}
}

// statsOf is what one box uses.
func (e *Engine) statsOf(ctx context.Context, box forkbox.Box, atRest bool) (forkbox.BoxStats, error) {
	s := described(box)
	h := e.handle(box.ID)
	var a *attached
	if h != nil {
		a = h.current()
	}
	if a == nil {
		if atRest {
			return e.statsAtRest(ctx, box)
		}
		return s, nil
	}
	s.Series = a.series.all(e.now())
	now, err := e.measure(ctx, h, a, diskAge)
	if err != nil {
		return s, err
	}
	s.Now, s.CPU = now, cpuPercent(s.Series, now)
	return s, nil
}

// statsAtRest: its last sample, with the disk as it is now.
func (e *Engine) statsAtRest(ctx context.Context, box forkbox.Box) (forkbox.BoxStats, error) {
	s := described(box)
	last := series{file: e.seriesFile(box.ID)}
	s.Series = last.all(e.now())
	if n := len(s.Series); n > 0 {
		s.Now = s.Series[n-1]
	}
	g := e.governor()
	if g == nil || usable("", box) != nil {
		return s, nil
	}
	bytes, inodes, err := g.Used(ctx, box)
	if err == nil {
		s.Now.Disk, s.Now.Inodes = bytes, inodes
	}
	if s.Now.Time.IsZero() {
		s.Now.Time = e.now()
	}
	return s, err
}

// unwatchedAge is how old the disk in a sample may be of a box whose disk nobody
// limits.
const unwatchedAge = 5 * time.Minute

// measure asks a box that runs.
func (e *Engine) measure(ctx context.Context, h *handle, a *attached, age time.Duration) (forkbox.Stats, error) {
	g, ok := a.instance.(forkbox.Governed)
	if !ok {
		return forkbox.Stats{}, forkbox.Errorf(forkbox.Unsupported, "measure box", "provider %s does not know", e.provider.Name())
	}
	ctx, cancel := context.WithTimeout(ctx, statsLimit)
	defer cancel()
	now, err := g.Stats(ctx)
	if err != nil {
		return now, err
	}
	if now.Time.IsZero() {
		now.Time = e.now()
	}
	if used, err := e.used(ctx, h, a, age); err == nil {
		now.Disk, now.Inodes = used.bytes, used.inodes
	}
	return now, nil
}

// cpuPercent is what of one processor was used since the last sample before
// now. Counters begin anew when a box starts again.
func cpuPercent(before []forkbox.Stats, now forkbox.Stats) float64 {
	for i := len(before) - 1; i >= 0; i-- {
		span := now.Time.Sub(before[i].Time)
		if span < 100*time.Millisecond {
			continue
		}
		return max(0, float64(now.CPU-before[i].CPU)/float64(span)*100)
	}
	return 0
}

// sample measures a box that runs and keeps that.
func (e *Engine) sample(h *handle, a *attached) time.Duration {
	if _, ok := a.instance.(forkbox.Governed); !ok {
		return never
	}
	age := diskAge
	if !limitsDisk(h.policy(a)) {
		age = unwatchedAge // to count may mean to look at every file
	}
	now, err := e.measure(e.ctx, h, a, age)
	if err != nil {
		e.log.Debug("cannot measure a box", "box", h.id, "error", err)
		return e.sampleEvery
	}
	e.tellHits(h, a, now)
	h.noteWrites(a, now)
	if err := a.series.add(now, e.now()); err != nil {
		e.log.Debug("cannot keep what a box used", "box", h.id, "error", err)
	}
	return e.sampleEvery
}
