// Package retention decides which boxes may go. It is given facts and a time,
// and answers with what to remove, what stays although its age or the size
// spoke against it, and why. It removes nothing itself.
//
// What it does not know keeps a box: an outcome or a state without a meaning
// here, or a box without a date, is never removed.
package retention

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
)

// Decide says which boxes go and which stay although a criterion spoke against
// them, each with why, the least recently used first. total is the bytes in
// use now, of everything.
//
// A request with an age, an idle time or a size is decided by what it gives,
// and a box goes when any of them speaks against it. A request with none is
// decided by the policy. Ages come first; only what is then still over the
// size goes by that, the least recently used first.
//
// Some boxes stay whatever is asked: with processes, pinned, kept, with
// children, in the middle of something, or with facts that make no sense. One
// with changes that were neither applied nor discarded goes only if the request
// says so. A request that [Check] refuses removes nothing.
//
// The bytes that several boxes share are in no box's Bytes, and the children of
// a box are those of before: to remove more where the first removal made that
// possible, gather the facts again and decide again.
func Decide(now time.Time, facts []Facts, spec forkbox.GCSpec, policy Policy, total int64) (remove, keep []forkbox.Collected) {
	remove, keep = []forkbox.Collected{}, []forkbox.Collected{} // lists in JSON, never null
	if Check(spec) != nil {
		return remove, keep
	}
	for _, b := range judge(now, facts, spec, policy, total) {
		switch {
		case b.goes():
			remove = append(remove, b.collected(b.farewell()))
		case len(b.against) > 0:
			keep = append(keep, b.collected(b.stays))
		}
	}
	return remove, keep
}

// candidate is a box that is being decided about.
type candidate struct {
	Facts
	against []string // what speaks against it
	stays   string   // why it stays all the same
}

func (b candidate) goes() bool { return len(b.against) > 0 && b.stays == "" }

func judge(now time.Time, facts []Facts, spec forkbox.GCSpec, policy Policy, total int64) []candidate {
	c := criteriaOf(spec, policy)
	var boxes []candidate
	for _, f := range facts {
		boxes = append(boxes, candidate{f, c.ages(now, f), protection(f, spec)})
	}
	slices.SortStableFunc(boxes, leastRecent)
	c.size(boxes, total)
	return boxes
}

// leastRecent orders boxes by their last use, and always the same way.
func leastRecent(a, b candidate) int {
	return cmp.Or(a.used().Compare(b.used()), cmp.Compare(a.Box.ID, b.Box.ID))
}

// farewell is why a box goes, and what goes with it.
func (b candidate) farewell() string {
	why := strings.Join(b.against, "; ")
	switch {
	case b.Snapshots == 1:
		why += "; its snapshot goes with it"
	case b.Snapshots > 1:
		why += "; its " + count(int64(b.Snapshots), "snapshot") + " go with it"
	}
	return why
}

func (b candidate) collected(why string) forkbox.Collected {
	return forkbox.Collected{Kind: "box", ID: b.Box.ID, Name: b.Box.Name, Why: why, Bytes: b.Bytes}
}

// Outcome is what became of what a box did.
type Outcome string

const (
	Unreviewed Outcome = "unreviewed" // it has changes that were neither applied nor discarded
	Applied    Outcome = "applied"    // it landed something and has nothing left
	Discarded  Outcome = "discarded"  // its changes were discarded
	Lost       Outcome = "lost"       // it was made for a race, and another approach of that landed
	Failed     Outcome = "failed"     // nothing changed, and its last command failed
	Untouched  Outcome = "untouched"  // nothing changed, and nothing failed
)

// Facts are what is known of one box when it is decided about.
type Facts struct {
	Box forkbox.Box
	// LastUsed is when something last ran in it, or its owner last reviewed,
	// applied or discarded; the time it was made if zero.
	LastUsed time.Time
	// Running says that it has processes beyond its init.
	Running bool
	// Children are the names of the boxes and templates that lie over layers
	// of its snapshots.
	Children []string
	// Outcome that is none of the constants keeps the box: a caller that could
	// not find it out leaves it empty.
	Outcome Outcome
	// Bytes is what removing it alone frees.
	Bytes int64
	// Snapshots is how many go with it.
	Snapshots int
}

// used is when the box was last of use. Making it counts.
func (f Facts) used() time.Time {
	if f.LastUsed.After(f.Box.Created) {
		return f.LastUsed
	}
	return f.Box.Created
}

// protection says why a box stays whatever its age and size: empty if it may
// go. What a request can overrule comes last, so that no owner is told to
// overrule it and then finds the box protected by something else.
func protection(f Facts, spec forkbox.GCSpec) string {
	if why := unfinished(f.Box); why != "" {
		return why
	}
	switch {
	case f.Running:
		return "processes run in it"
	case f.Box.Pinned:
		return "it was started to stay up; forkbox stop ends that"
	case f.Box.Kept:
		return "its owner wants it kept"
	case len(f.Children) > 0:
		return needed(f.Children)
	case f.Box.Created.IsZero():
		return "nothing says when it was made"
	case !known(f.Outcome):
		return "it could not be found out whether it has changes"
	case f.Outcome == Unreviewed && !spec.Unreviewed:
		return "it has changes that were neither applied nor discarded; --unreviewed removes it too"
	}
	return ""
}

// unfinished says what is being done to a box, by us or by a daemon that died
// and whose successor will finish it.
func unfinished(b forkbox.Box) string {
	switch b.State {
	case forkbox.Creating:
		return "it is being created"
	case forkbox.Removing:
		return "it is being removed"
	case forkbox.Stopped, forkbox.Running:
	default:
		return fmt.Sprintf("its state is %q, which this version does not know", b.State)
	}
	switch {
	case b.Saving != "":
		return "a snapshot of it is being made"
	case b.Rebase != "":
		return "it is being adapted to what was applied"
	case b.Syncing != nil:
		return "what reality changed is being brought into it"
	}
	return ""
}

func needed(children []string) string {
	if len(children) == 1 {
		return list(children) + " needs its snapshots; it can go once that has gone"
	}
	return list(children) + " need its snapshots; it can go once they have gone"
}

// criteria are what can speak against a box. Those that are zero do not.
type criteria struct {
	olderThan, idleFor time.Duration // as asked
	policy             Policy        // its ages
	maxSize            int64
}

// criteriaOf takes the request's criteria, or the policy's if it has none: who
// asks for something in particular does not want everything else as well.
func criteriaOf(spec forkbox.GCSpec, policy Policy) criteria {
	if spec.OlderThan == 0 && spec.IdleFor == 0 && spec.MaxSize == 0 {
		return criteria{policy: policy, maxSize: policy.MaxSize}
	}
	return criteria{olderThan: spec.OlderThan, idleFor: spec.IdleFor, maxSize: spec.MaxSize}
}

// ages says what the times of a box say against it.
func (c criteria) ages(now time.Time, f Facts) (against []string) {
	idle, old := now.Sub(f.used()), now.Sub(f.Box.Created)
	if age := c.policy.age(f.Outcome); age != nil && *age > 0 && idle > *age {
		against = append(against, fmt.Sprintf("not used for %s; %s boxes stay %s", span(idle), f.Outcome, span(*age)))
	}
	if c.idleFor > 0 && idle > c.idleFor {
		against = append(against, fmt.Sprintf("not used for %s; asked to remove what is idle for %s", span(idle), span(c.idleFor)))
	}
	if c.olderThan > 0 && old > c.olderThan {
		against = append(against, fmt.Sprintf("made %s ago; asked to remove what is older than %s", span(old), span(c.olderThan)))
	}
	return against
}

// size has boxes go, in the order given, until no more than the limit is in
// use. Those that stay are passed over, and told that the limit spoke against
// them.
func (c criteria) size(boxes []candidate, total int64) {
	left := total
	for _, b := range boxes {
		if b.goes() {
			left = without(left, b.Bytes)
		}
	}
	for i := range boxes {
		b := &boxes[i]
		if c.maxSize <= 0 || left <= c.maxSize {
			return
		}
		if len(b.against) > 0 {
			continue
		}
		b.against = []string{fmt.Sprintf("%s are in use and the limit is %s; of what may go it was used longest ago", size(left), size(c.maxSize))}
		if b.stays == "" && b.Bytes <= 0 {
			b.stays = "removing it alone frees nothing"
		}
		if b.goes() {
			left = without(left, b.Bytes)
		}
	}
}

// without is never below zero: facts that do not add up must not overflow.
func without(total, bytes int64) int64 {
	return max(0, total-max(0, bytes))
}
