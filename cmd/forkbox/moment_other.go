//go:build !linux

package main

import (
	"time"

	"github.com/forkbox/forkbox"
)

// untilMoment is how far away a moment is, by the clock.
func untilMoment(m forkbox.Moment) time.Duration { return time.Until(m.Time) }
