//go:build !linux

package describe

import (
	"time"

	"github.com/forkbox/forkbox"
)

// UntilMoment is how far away a moment is, by the clock.
func UntilMoment(m forkbox.Moment) time.Duration { return time.Until(m.Time) }
