// Package retention decides which boxes may go. It is given facts and a time,
// and answers with what to remove, what stays although its age or the size
// spoke against it, and why. It removes nothing itself.
//
// What it does not know keeps a box: an outcome or a state without a meaning
// here, or a box without a date, is never removed.
package retention

import (
	"time"

	"github.com/forkbox/forkbox"
)

// Outcome is what became of what a box did.
type Outcome string

const (
	Unreviewed Outcome = "unreviewed" // it has changes that nobody applied or discarded
	Applied    Outcome = "applied"    // it landed something and has nothing left
	Discarded  Outcome = "discarded"  // its changes were discarded
	Lost       Outcome = "lost"       // it was made for a race, and another approach of that landed
	Failed     Outcome = "failed"     // nothing changed, and its last command failed
	Untouched  Outcome = "untouched"  // nothing changed, and nothing failed
)

// Facts are what is known of one box when it is decided about.
type Facts struct {
	Box forkbox.Box
	// LastUsed is when something last ran in it, or somebody last reviewed,
	// applied or discarded; the time it was made if zero.
	LastUsed time.Time
	// Running says that it has processes beyond its init.
	Running bool
	// Children are the names of the boxes and templates that lie over layers
	// of its snapshots.
	Children []string
	// Outcome that is none of the constants keeps the box: whoever could not
	// find it out leaves it empty.
	Outcome Outcome
	// Bytes is what removing it alone frees.
	Bytes int64
	// Snapshots is how many go with it.
	Snapshots int
}

// used is when the box was last of use to somebody. Making it counts.
func (f Facts) used() time.Time {
	if f.LastUsed.After(f.Box.Created) {
		return f.LastUsed
	}
	return f.Box.Created
}
