package retention

import (
	"cmp"
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
// with changes that nobody applied or discarded goes only if the request says
// so. A request that [Check] refuses removes nothing.
//
// The bytes that several boxes share are in nobody's Bytes, and the children
// of a box are those of before: to remove more where the first removal made
// that possible, gather the facts again and decide again.
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
