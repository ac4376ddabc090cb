package rank

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/forkbox/forkbox"
)

// rule is one thing that approaches are compared by.
type rule interface {
	// split parts a group into those who are alike, the best first. The first
	// of each part is the best of it.
	split(group []*member) [][]*member
	// blame says why one is not before another.
	blame(worse, better *member) string
	// praise says why one is before another, after "NAME wins: ".
	praise(best, next *member) string
}

// rulesOf are all rules of a race, the most important first.
func rulesOf(spec forkbox.RaceSpec) []rule {
	rules := []rule{byOutcome{}, byScore{}}
	for i, m := range spec.Metrics {
		rules = append(rules, byMetric{i, m})
	}
	rules = append(rules, byRisk{})
	breaks := spec.TieBreaks
	if breaks == nil {
		breaks = forkbox.DefaultTieBreaks()
	}
	for _, b := range breaks {
		switch b {
		case forkbox.SmallerDiff:
			rules = append(rules, byDiff{})
		case forkbox.FewerFiles:
			rules = append(rules, byFiles{})
		case forkbox.Faster:
			rules = append(rules, byTook{})
		}
	}
	return rules
}

// byKey splits where a key differs; lower is better.
func byKey[K cmp.Ordered](group []*member, key func(*member) K) [][]*member {
	sorted := slices.Clone(group)
	slices.SortStableFunc(sorted, func(a, b *member) int { return cmp.Or(cmp.Compare(key(a), key(b)), inList(a, b)) })
	var parts [][]*member
	for i, m := range sorted {
		if i == 0 || key(sorted[i-1]) != key(m) {
			parts = append(parts, nil)
		}
		last := &parts[len(parts)-1]
		*last = append(*last, m)
	}
	return parts
}

// byBest splits by a key that noise is in: with the best goes everybody who
// cannot be told from it, then comes the best of the others.
func byBest(group []*member, key func(*member) float64, told func(best, other *member) bool) [][]*member {
	rest := slices.Clone(group)
	slices.SortStableFunc(rest, func(a, b *member) int { return cmp.Or(cmp.Compare(key(a), key(b)), inList(a, b)) })
	var parts [][]*member
	for len(rest) > 0 {
		alike, others := likeFirst(rest, told)
		parts, rest = append(parts, alike), others
	}
	return parts
}

// likeFirst are those who cannot be told from the first, and those who can.
func likeFirst(sorted []*member, told func(best, other *member) bool) (alike, others []*member) {
	for i, m := range sorted {
		if i == 0 || !told(sorted[0], m) {
			alike = append(alike, m)
		} else {
			others = append(others, m)
		}
	}
	return alike, others
}

type byOutcome struct{}

func (byOutcome) split(g []*member) [][]*member { return byKey(g, (*member).class) }
func (byOutcome) blame(worse, _ *member) string { return worse.fault() }
func (byOutcome) praise(_, next *member) string {
	return fmt.Sprintf("of %s: %s", next.Name, next.fault())
}

type byScore struct{}

// split takes scores for equal that only the order of additions makes differ.
func (byScore) split(g []*member) [][]*member {
	return byKey(g, func(m *member) float64 { return -math.Round(m.Score * 1e9) })
}

func (byScore) blame(worse, better *member) string {
	w, b := figures(worse.Score, better.Score, "")
	return fmt.Sprintf("lower score: %s against %s", w, b)
}

func (byScore) praise(best, next *member) string {
	b, n := figures(best.Score, next.Score, "")
	return fmt.Sprintf("it scores %s, and %s %s", b, next.Name, n)
}
