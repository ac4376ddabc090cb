package main

import (
	"strings"

	"github.com/forkbox/forkbox"
)

// stateText is what a box does, and what its owner should know about that, in a
// few words.
func stateText(b forkbox.Box) string {
	words := []string{string(b.State)}
	if b.Paused != "" {
		words = append(words, "paused ("+printable(b.Paused)+")")
	}
	if b.Ends != nil {
		words = append(words, endsText(b.Ends))
	}
	if b.Death != nil {
		words = append(words, string(b.Death.Cause))
	}
	if b.Death == nil && b.Last != nil && diedOfLimit(b.Last.Exit) {
		words = append(words, "last command "+string(b.Last.Exit.Cause))
	}
	if b.Stale != nil {
		words = append(words, "stale")
	}
	return strings.Join(words, ", ")
}

// diedOfLimit says whether something else than the command itself, or somebody,
// ended it.
func diedOfLimit(exit *forkbox.Exit) bool {
	if exit == nil {
		return false
	}
	switch exit.Cause {
	case forkbox.CauseOOM, forkbox.CausePids, forkbox.CauseDisk, forkbox.CauseTimeout, forkbox.CauseShutdown, forkbox.CauseLost:
		return true
	}
	return false
}
