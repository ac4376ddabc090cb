package describe

import (
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

func TestSpanText(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Hour: "0s", 59 * time.Second: "59s", 5*time.Minute + 10*time.Second: "5m", 2 * time.Hour: "2h",
		90 * time.Minute: "1h30m", 80 * time.Hour: "3d",
	} {
		if got := Span(d); got != want {
			t.Errorf("%s: %s, want %s", d, got, want)
		}
	}
}

func TestStateText(t *testing.T) {
	soon, past := &forkbox.Moment{Time: time.Now().Add(5*time.Minute + 20*time.Second)}, &forkbox.Moment{Time: time.Now().Add(-time.Hour)}
	for want, box := range map[string]forkbox.Box{
		"running": {State: forkbox.Running},
		"running, paused (disk limit of 5g reached), ends in 5m": {State: forkbox.Running, Paused: "disk limit of 5g reached", Ends: soon},
		"stopped, is past its time, ttl":                         {State: forkbox.Stopped, Ends: past, Death: &forkbox.Exit{Cause: forkbox.CauseTTL}},
		"stopped, oom-killed, stale":                             {State: forkbox.Stopped, Stale: &forkbox.Staleness{Box: "other"}, Death: &forkbox.Exit{Cause: forkbox.CauseOOM}},
	} {
		if got := State(box); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
