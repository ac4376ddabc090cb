//go:build linux

package native

import (
	"fmt"
	"slices"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/hostload"
)

// succession is how soon after another a box must be made for a spare to be
// kept, and how long it is kept.
const succession = 2 * time.Second

// together is how soon after one another boxes start that were asked for at
// once: the next time as many will be.
const together = 100 * time.Millisecond

// maxSpares is how many there are at most.
const maxSpares = 8

// headStart is what each box just started gets before the next spare competes
// with it for the processors.
const headStart = 8 * time.Millisecond

// spareMemory is what the host must have left for each spare: many times what
// one takes. The last of the memory is for boxes that do something.
const spareMemory = 128 << 20

// begun is a box that was started.
type begun struct {
	key  string
	like forkbox.Box
	when time.Time
}

// stock notes that a box was started. If boxes come quickly, spares are made
// for the next ones, when the burst that this one may be part of is over.
func (s *spares) stock(plan *plan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.recent = slices.DeleteFunc(s.recent, func(b begun) bool { return now.Sub(b.when) > succession })
	s.recent = append(s.recent, begun{plan.key(), plan.box, now})
	if len(s.recent) > 1 && !s.making {
		s.lookAgain(s.burstEnd().Sub(now))
	}
}

// lookAgain has look called. The caller has the lock.
func (s *spares) lookAgain(in time.Duration) {
	if s.timer == nil {
		s.timer = time.AfterFunc(in, s.look)
	} else {
		s.timer.Reset(in)
	}
}

// look makes one more spare, waits, or takes them all down: whichever it is
// time for.
func (s *spares) look() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.making || len(s.recent) == 0 {
		return
	}
	last := s.recent[len(s.recent)-1]
	quiet := succession - time.Since(last.when)
	switch busy := time.Until(s.burstEnd()); {
	case quiet <= 0:
		s.recent = nil
		s.dropPassing(func(*spare) bool { return true })
	case busy > 0:
		s.lookAgain(busy)
	case s.passing(last.key) < s.wanted(last.key):
		s.making = true
		s.work.Go(func() { s.make(last) })
	default:
		s.lookAgain(quiet)
	}
}

// make makes one spare.
func (s *spares) make(last begun) {
	made, err := s.afford(last.like)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.making = false
	if err != nil {
		s.log.Debug("no spare box", "why", err)
		s.lookAgain(succession) // the next box may have more luck
		return
	}
	s.ready = append(s.ready, made)
	s.dropPassing(func(r *spare) bool { return r.key != last.key && s.passing("") > maxSpares })
	s.lookAgain(0)
}

// afford builds a spare unless the host is short of memory.
func (s *spares) afford(like forkbox.Box) (*spare, error) {
	s.mu.Lock()
	n := int64(s.passing("") + 1)
	s.mu.Unlock()
	if load, err := hostload.Read(s.home); err != nil || load.MemAvailable < n*spareMemory {
		return nil, fmt.Errorf("%d bytes of memory are too few (%w)", load.MemAvailable, err)
	}
	return s.build(like)
}

// wanted is how many spares of a kind there should be: as many as boxes of that
// kind were asked for at once of late. The caller has the lock.
func (s *spares) wanted(key string) (most int) {
	var burst []time.Time // those within a moment
	seen := 0
	for _, b := range s.recent {
		if b.key != key {
			continue
		}
		seen++
		burst = slices.DeleteFunc(append(burst, b.when), func(t time.Time) bool { return b.when.Sub(t) >= together })
		most = max(most, len(burst))
	}
	if seen < 2 {
		return 0
	}
	return min(most, maxSpares)
}

// burstEnd is when the boxes that were started last have had their head start.
// The caller has the lock.
func (s *spares) burstEnd() time.Time {
	last, n := s.recent[len(s.recent)-1].when, 0
	for _, b := range s.recent {
		if last.Sub(b.when) < together {
			n++
		}
	}
	return last.Add(time.Duration(min(n, maxSpares)) * headStart)
}

// passing counts the spares that no template keeps: of a kind, or all. The
// caller has the lock.
func (s *spares) passing(key string) (n int) {
	for _, r := range s.ready {
		if r.template == "" && (key == "" || r.key == key) {
			n++
		}
	}
	return n
}

// dropPassing takes down spares that no template keeps. The caller has the
// lock.
func (s *spares) dropPassing(unwanted func(*spare) bool) {
	for _, r := range slices.Clone(s.ready) {
		if r.template == "" && unwanted(r) {
			s.ready = slices.DeleteFunc(s.ready, func(o *spare) bool { return o == r })
			s.work.Go(func() { s.drop(r) })
		}
	}
}
