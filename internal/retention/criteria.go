package retention

import (
	"fmt"
	"time"

	"github.com/forkbox/forkbox"
)

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
