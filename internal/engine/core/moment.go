package core

import (
	"time"

	"github.com/forkbox/forkbox"
)

// Instant is now, by both clocks of a host: the one that people set, and the
// one that counts since its start, which cannot be set and which goes on while
// the host sleeps.
type Instant struct {
	Time  time.Time
	Boot  string
	Since time.Duration
}

// LongestSpan is more than any caller waits.
const LongestSpan = 100 * 365 * 24 * time.Hour

// In is the moment so much later.
func (c Instant) In(d time.Duration) *forkbox.Moment {
	d = min(d, LongestSpan) // sums of two do not overflow
	// Without Go's own reading of a third clock, which stands still while the
	// host sleeps and which comparisons would prefer.
	return &forkbox.Moment{Time: c.Time.Add(d).Round(0), Boot: c.Boot, Since: c.Since + d}
}

// Left is how long it is until a moment, below zero when it has passed.
func (c Instant) Left(m forkbox.Moment) time.Duration {
	if c.Boot != "" && c.Boot == m.Boot {
		return m.Since - c.Since
	}
	return m.Time.Sub(c.Time.Round(0))
}

// Again is the same moment as both clocks tell it now.
func (c Instant) Again(m forkbox.Moment) *forkbox.Moment { return c.In(c.Left(m)) }

// Later is a moment put off: one that has passed counts from now.
func (c Instant) Later(m forkbox.Moment, d time.Duration) *forkbox.Moment {
	return c.In(max(0, c.Left(m)) + min(d, LongestSpan))
}

// Jumped is by how much the clock that people set was set between two instants.
func (c Instant) Jumped(before Instant) time.Duration {
	if c.Boot != before.Boot {
		return 0
	}
	return c.Time.Round(0).Sub(before.Time.Round(0)) - (c.Since - before.Since)
}

// WarnBefore is how long before its end the owner of a box is told.
func WarnBefore(ttl time.Duration) time.Duration {
	if ttl < 2*time.Minute {
		return ttl / 2
	}
	return max(time.Minute, ttl/10)
}

// Span is a limit of time, which is kept in nanoseconds.
func Span(ns int64) time.Duration { return time.Duration(ns) }

// Instant reads both clocks.
func (c *Core) Instant() Instant {
	boot, since := c.Clock()
	return Instant{c.Now(), boot, since}
}

// sinceStart is the clock of an engine that was given none. It names no run of
// the host, so that moments go by the time.
func sinceStart() func() (string, time.Duration) {
	start := time.Now()
	return func() (string, time.Duration) { return "", time.Since(start) }
}

// ShortSpan is a span as users write it: 90m, 2h.
func ShortSpan(d time.Duration) string { return forkbox.FormatLimit(forkbox.TTL, int64(d)) }
