package main

import (
	"fmt"
	"strings"
	"time"

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
	if b.Stale != "" {
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

// endsText says when a box's time is up.
func endsText(m *forkbox.Moment) string {
	if m == nil {
		return "does not end by itself"
	}
	left := untilMoment(*m)
	if left <= 0 {
		return "is past its time"
	}
	return "ends in " + spanText(left)
}

// spanText is a time to come as people read it.
func spanText(d time.Duration) string {
	switch {
	case d < time.Second:
		return "0s"
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Round(time.Minute).Minutes()))
	case d < 48*time.Hour:
		return forkbox.FormatLimit(forkbox.TTL, int64(d.Round(time.Minute)))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

func howText(rule forkbox.Rule) string { return string(rule.How) + because(printable(rule.Why)) }

func staleText(b forkbox.Box) string {
	return printable(b.Stale) + "; bring it up to date: forkbox sync " + b.Name
}

func messageText(s forkbox.Snapshot) string {
	switch {
	case !s.Auto:
		return printable(s.Message)
	case s.Message == "":
		return "(automatic)"
	}
	return "(automatic) " + printable(s.Message)
}

// removedText is what stands for a parent that is gone.
const removedText = "(removed)"
