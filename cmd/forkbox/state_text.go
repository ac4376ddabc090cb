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
		words = append(words, "paused")
	}
	if b.Ends != nil {
		words = append(words, endsText(b.Ends))
	}
	if b.Death != nil {
		words = append(words, string(b.Death.Cause))
	}
	if b.Stale != "" {
		words = append(words, "stale")
	}
	return strings.Join(words, ", ")
}
