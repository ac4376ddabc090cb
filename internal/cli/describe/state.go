// Package describe has the words for what several nouns show: the state of a
// box, how a command ended, what a network is.
package describe

import (
	"fmt"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

// State is what a box does, and what its owner should know about that, in a
// few words.
func State(b forkbox.Box) string {
	words := []string{string(b.State)}
	if b.Paused != "" {
		words = append(words, "paused ("+terminal.Printable(b.Paused)+")")
	}
	if b.Ends != nil {
		words = append(words, Ends(b.Ends))
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

// diedOfLimit says whether a limit or the host ended a command, and neither the
// command itself nor a user.
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

// Ends says when a box's time is up.
func Ends(m *forkbox.Moment) string {
	if m == nil {
		return "does not end by itself"
	}
	left := UntilMoment(*m)
	if left <= 0 {
		return "is past its time"
	}
	return "ends in " + Span(left)
}

// Span is a time to come as people read it.
func Span(d time.Duration) string {
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

// How says whether a limit is enforced, and if not, why.
func How(rule forkbox.Rule) string {
	return string(rule.How) + terminal.Because(terminal.Printable(rule.Why))
}

// landedText says what another box did that made one stale.
func landedText(s forkbox.Staleness) string {
	who := "another box"
	if s.Box != "" {
		who = "box " + s.Box
	}
	switch {
	case s.Lost:
		return who + " won their race and landed"
	case s.Path != "":
		return who + " landed " + s.Path + ", which this one changed as well"
	}
	return who + " landed what this one changed as well"
}

// Stale says what a box is behind of, and what to do.
func Stale(b forkbox.Box) string {
	return terminal.Printable(landedText(*b.Stale)) + "; bring it up to date: forkbox sync " + b.Name
}

// Message is what a snapshot says of itself.
func Message(s forkbox.Snapshot) string {
	switch {
	case !s.Auto:
		return terminal.Printable(s.Message)
	case s.Message == "":
		return "(automatic)"
	}
	return "(automatic) " + terminal.Printable(s.Message)
}

// Removed is what stands for a parent that is gone.
const Removed = "(removed)"
