package retention

import (
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/forkbox/forkbox"
)

// situation is anything that gc can be asked about.
type situation struct {
	facts  []Facts
	spec   forkbox.GCSpec
	policy Policy
	total  int64
}

func (s situation) decide() (remove, keep []forkbox.Collected) {
	return Decide(now, s.facts, s.spec, s.policy, s.total)
}

// few makes ties and boundaries likely.
func few(t *rapid.T, label string, most int) time.Duration {
	return time.Duration(rapid.IntRange(0, most).Draw(t, label)) * day
}

func drawFacts(t *rapid.T, i int) Facts {
	f := idle(rapid.SampledFrom(append([]Outcome{"", "rejected", Applied, Applied}, outcomes...)).Draw(t, "outcome"), few(t, "idle", 9))
	f.Box.ID, f.Box.Name = fmt.Sprint("id", i), fmt.Sprint("box", i)
	f.Box.Created = now.Add(-few(t, "age", 12))
	f.Bytes = rapid.Int64Range(-1, 5).Draw(t, "bytes")
	if rapid.IntRange(0, 2).Draw(t, "protected") == 0 {
		rapid.SampledFrom(protections).Draw(t, "how").protect(&f)
	}
	return f
}

func drawSituation(t *rapid.T) situation {
	s := situation{total: rapid.Int64Range(0, 40).Draw(t, "total")}
	for i := range rapid.IntRange(0, 12).Draw(t, "boxes") {
		s.facts = append(s.facts, drawFacts(t, i))
	}
	if rapid.Bool().Draw(t, "asks") {
		s.spec = forkbox.GCSpec{OlderThan: few(t, "older", 9), IdleFor: few(t, "idle for", 9), MaxSize: rapid.Int64Range(0, 40).Draw(t, "max")}
	}
	s.spec.Unreviewed = rapid.Bool().Draw(t, "unreviewed")
	s.policy = Policy{few(t, "applied", 9), few(t, "discarded", 9), few(t, "lost", 9), few(t, "failed", 9), few(t, "untouched", 9), few(t, "unreviewed age", 9),
		rapid.Int64Range(0, 40).Draw(t, "policy's max")}
	return s
}

// mayGo is the rules again, in one expression and none of the code's words.
func (s situation) mayGo(f Facts) bool {
	b := f.Box
	return (b.State == "stopped" || b.State == "running") && b.Saving+b.Rebase == "" && !b.Kept && !b.Pinned && !f.Running &&
		f.Children == nil && !b.Created.IsZero() && slices.Contains(outcomes, f.Outcome) && (s.spec.Unreviewed || f.Outcome != "unreviewed")
}

// tooOld says whether a time speaks against a box, and limit which size does.
func (s situation) tooOld(f Facts) bool {
	last := f.Box.Created
	if f.LastUsed.After(last) {
		last = f.LastUsed
	}
	over := func(since time.Time, age time.Duration) bool { return age > 0 && since.Add(age).Before(now) }
	if s.spec.OlderThan+s.spec.IdleFor != 0 || s.spec.MaxSize != 0 {
		return over(f.Box.Created, s.spec.OlderThan) || over(last, s.spec.IdleFor)
	}
	ages := map[Outcome]time.Duration{"applied": s.policy.Applied, "discarded": s.policy.Discarded, "lost": s.policy.Lost, "failed": s.policy.Failed,
		"untouched": s.policy.Untouched, "unreviewed": s.policy.Unreviewed}
	return over(last, ages[f.Outcome])
}

func (s situation) limit() int64 {
	if s.spec.OlderThan+s.spec.IdleFor != 0 || s.spec.MaxSize != 0 {
		return s.spec.MaxSize
	}
	return s.policy.MaxSize
}

func (s situation) fact(t *rapid.T, id string) Facts {
	i := slices.IndexFunc(s.facts, func(f Facts) bool { return f.Box.ID == id })
	if i < 0 {
		t.Fatalf("nobody spoke of %q", id)
	}
	return s.facts[i]
}

func has(list []forkbox.Collected, id string) bool {
	return slices.ContainsFunc(list, func(c forkbox.Collected) bool { return c.ID == id })
}
