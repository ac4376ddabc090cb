package engine

import (
	"time"

	"github.com/forkbox/forkbox"
)

// instant is now, by both clocks of a host: the one that people set, and the
// one that counts since its start, which nobody sets and which goes on while
// the host sleeps.
type instant struct {
	time  time.Time
	boot  string
	since time.Duration
}

// longestSpan is more than anybody waits.
const longestSpan = 100 * 365 * 24 * time.Hour

// in is the moment so much later.
func (c instant) in(d time.Duration) *forkbox.Moment {
	d = min(d, longestSpan) // sums of two do not overflow
	// Without Go's own reading of a third clock, which stands still while the
	// host sleeps and which comparisons would prefer.
	return &forkbox.Moment{Time: c.time.Add(d).Round(0), Boot: c.boot, Since: c.since + d}
}

// left is how long it is until a moment, below zero when it has passed.
func (c instant) left(m forkbox.Moment) time.Duration {
	if c.boot != "" && c.boot == m.Boot {
		return m.Since - c.since
	}
	return m.Time.Sub(c.time.Round(0))
}

// again is the same moment as both clocks tell it now.
func (c instant) again(m forkbox.Moment) *forkbox.Moment { return c.in(c.left(m)) }

// later is a moment put off: one that has passed counts from now.
func (c instant) later(m forkbox.Moment, d time.Duration) *forkbox.Moment {
	return c.in(max(0, c.left(m)) + min(d, longestSpan))
}

// jumped is by how much the clock that people set was set between two instants.
func (c instant) jumped(before instant) time.Duration {
	if c.boot != before.boot {
		return 0
	}
	return c.time.Round(0).Sub(before.time.Round(0)) - (c.since - before.since)
}

// warnBefore is how long before its end the owner of a box is told.
func warnBefore(ttl time.Duration) time.Duration {
	if ttl < 2*time.Minute {
		return ttl / 2
	}
	return max(time.Minute, ttl/10)
}

func span(ns int64) time.Duration { return time.Duration(ns) }

// instant reads both clocks.
func (e *Engine) instant() instant {
	boot, since := e.clock()
	return instant{e.now(), boot, since}
}

// sinceStart is the clock of an engine that was given none. It names no run of
// the host, so that moments go by the time.
func sinceStart() func() (string, time.Duration) {
	start := time.Now()
	return func() (string, time.Duration) { return "", time.Since(start) }
}
