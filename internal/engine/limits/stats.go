package limits

import (
	"context"
	"sync"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
)

const (
	AnswerLimit = 5 * time.Second  // how long an instance may take to answer
	diskAge     = 10 * time.Second // how old the figure of the disk may be
	manyAtOnce  = 8                // boxes are asked at the same time
)

// Stats is what a box uses, with series also what it used in the last hour. Of
// one at rest it is what was last measured, and the disk that it takes.
func (m *Manager) Stats(ctx context.Context, who forkbox.Owner, ref string, series bool) (forkbox.BoxStats, error) {
	ctx, end, err := m.core.Begin(ctx, "measure box")
	if err != nil {
		return forkbox.BoxStats{}, err
	}
	defer end()
	box, err := m.core.Resolve(ctx, who, ref)
	if err != nil {
		return forkbox.BoxStats{}, err
	}
	s, err := m.statsOf(ctx, box, true)
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
func (m *Manager) AllStats(ctx context.Context, who forkbox.Owner) ([]forkbox.BoxStats, error) {
	ctx, end, err := m.core.Begin(ctx, "measure boxes")
	if err != nil {
		return nil, err
	}
	defer end()
	boxes, err := m.core.Ledger.Boxes(ctx, &who.UID)
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
			if s, err := m.statsOf(ctx, box, false); err == nil {
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
func (m *Manager) statsOf(ctx context.Context, box forkbox.Box, atRest bool) (forkbox.BoxStats, error) {
	s := described(box)
	h := m.core.HandleOf(box.ID)
	var a *core.Attached
	if h != nil {
		a = h.Current()
	}
	if a == nil {
		if atRest {
			return m.statsAtRest(ctx, box)
		}
		return s, nil
	}
	s.Series = gauges.Of(a).series.all(m.core.Now())
	now, err := m.measure(ctx, h, a, diskAge)
	if err != nil {
		return s, err
	}
	s.Now, s.CPU = now, cpuPercent(s.Series, now)
	return s, nil
}

// statsAtRest: its last sample, with the disk as it is now.
func (m *Manager) statsAtRest(ctx context.Context, box forkbox.Box) (forkbox.BoxStats, error) {
	s := described(box)
	last := series{file: m.seriesFile(box.ID)}
	s.Series = last.all(m.core.Now())
	if n := len(s.Series); n > 0 {
		s.Now = s.Series[n-1]
	}
	g := m.governor()
	if g == nil || core.Usable("", box) != nil {
		return s, nil
	}
	bytes, inodes, err := g.Used(ctx, box)
	if err == nil {
		s.Now.Disk, s.Now.Inodes = bytes, inodes
	}
	if s.Now.Time.IsZero() {
		s.Now.Time = m.core.Now()
	}
	return s, err
}

// unwatchedAge is how old the disk in a sample may be of a box whose disk is
// not limited.
const unwatchedAge = 5 * time.Minute

// measure asks a box that runs.
func (m *Manager) measure(ctx context.Context, h *core.Handle, a *core.Attached, age time.Duration) (forkbox.Stats, error) {
	g, ok := a.Instance.(forkbox.Governed)
	if !ok {
		return forkbox.Stats{}, forkbox.Errorf(forkbox.Unsupported, "measure box", "provider %s does not know", m.core.Provider.Name())
	}
	ctx, cancel := context.WithTimeout(ctx, AnswerLimit)
	defer cancel()
	now, err := g.Stats(ctx)
	if err != nil {
		return now, err
	}
	if now.Time.IsZero() {
		now.Time = m.core.Now()
	}
	if used, err := m.used(ctx, h, a, age); err == nil {
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

// Sample measures a box that runs and keeps that.
func (m *Manager) Sample(h *core.Handle, a *core.Attached) time.Duration {
	if _, ok := a.Instance.(forkbox.Governed); !ok {
		return core.Never
	}
	age := diskAge
	if !limitsDisk(h.Policy(a)) {
		age = unwatchedAge // to count may mean to look at every file
	}
	now, err := m.measure(m.core.Ctx, h, a, age)
	if err != nil {
		m.core.Log.Debug("cannot measure a box", "box", h.ID, "error", err)
		return m.SampleEvery
	}
	m.tellHits(h, a, now)
	noteWrites(h, a, now)
	if err := gauges.Of(a).series.add(now, m.core.Now()); err != nil {
		m.core.Log.Debug("cannot keep what a box used", "box", h.ID, "error", err)
	}
	return m.SampleEvery
}

// Consumed is what a box that runs has used of processors and memory since it
// was started. It does not look at its disk, which may mean every file.
func (m *Manager) Consumed(ctx context.Context, who forkbox.Owner, ref string) (forkbox.Stats, error) {
	const op = "measure box"
	ctx, end, err := m.core.Begin(ctx, op)
	if err != nil {
		return forkbox.Stats{}, err
	}
	defer end()
	id, err := m.core.IDOf(ctx, who, ref)
	if err != nil {
		return forkbox.Stats{}, err
	}
	h := m.core.HandleOf(id)
	if h == nil {
		return forkbox.Stats{}, forkbox.Errorf(forkbox.Busy, op, "it does not run")
	}
	a := h.Current()
	if a == nil {
		return forkbox.Stats{}, forkbox.Errorf(forkbox.Busy, op, "it does not run")
	}
	g, ok := a.Instance.(interface {
		Used(ctx context.Context) (forkbox.Stats, error)
	})
	if !ok {
		return forkbox.Stats{}, forkbox.Errorf(forkbox.Unsupported, op, "provider %s does not know", m.core.Provider.Name())
	}
	ctx, cancel := context.WithTimeout(ctx, AnswerLimit)
	defer cancel()
	return g.Used(ctx)
}
