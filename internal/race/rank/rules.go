package rank

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

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

// byBest splits by a key that noise is in: with the best goes every approach
// that cannot be told from it, then comes the best of the others.
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

// byRisk comes before every tie-break: who changed the tests may have won the
// tie by that.
type byRisk struct{}

func (byRisk) split(g []*member) [][]*member {
	return ofJudged(g, func(m *member) int { return min(len(m.Risks), 1) })
}

func (byRisk) blame(worse, _ *member) string {
	return fmt.Sprintf("it deserves a second look: %s %s", worse.Risks[0].Why, worse.Risks[0].Path)
}

func (byRisk) praise(_, next *member) string {
	return fmt.Sprintf("nothing in it deserves a second look, and %s %s", next.Name, next.Risks[0].Why)
}

// The tie-breaks.

type byDiff struct{}

func (byDiff) split(g []*member) [][]*member {
	return ofJudged(g, func(m *member) int { return m.Diff.Plus + m.Diff.Minus })
}

func (byDiff) blame(worse, better *member) string {
	return fmt.Sprintf("larger diff: %s against %s", lines(worse), lines(better))
}

func (byDiff) praise(best, next *member) string {
	return fmt.Sprintf("its diff is smaller, %s against %s of %s", lines(best), lines(next), next.Name)
}

func lines(m *member) string { return fmt.Sprintf("+%d −%d", m.Diff.Plus, m.Diff.Minus) }

type byFiles struct{}

func (byFiles) split(g []*member) [][]*member { return ofJudged(g, paths) }

func (byFiles) blame(worse, better *member) string {
	return fmt.Sprintf("more files changed: %d against %d", paths(worse), paths(better))
}

func (byFiles) praise(best, next *member) string {
	return fmt.Sprintf("it changes fewer files, %d against %d of %s", paths(best), paths(next), next.Name)
}

func paths(m *member) int { return m.Diff.Files + m.Diff.System }

// ofJudged leaves those alone who never got as far as to be judged.
func ofJudged(g []*member, key func(*member) int) [][]*member {
	return byKey(g, func(m *member) int {
		if !m.judged() {
			return 0
		}
		return key(m)
	})
}

type byTook struct{}

// split: one run of the steps is all there is, so only what is plain counts.
func (byTook) split(g []*member) [][]*member {
	if !g[0].judged() {
		return [][]*member{g}
	}
	took := func(m *member) float64 { return float64(m.Took) }
	return byBest(g, took, func(best, other *member) bool {
		gap := other.Took - best.Took
		return gap > clearTime && apart(took(best), took(other)) > clearShare
	})
}

func (byTook) blame(worse, better *member) string {
	w, b := spans(worse.Took, better.Took)
	return fmt.Sprintf("slower: its steps took %s against %s", w, b)
}

func (byTook) praise(best, next *member) string {
	b, n := spans(best.Took, next.Took)
	return fmt.Sprintf("its steps took %s, those of %s %s", b, next.Name, n)
}

func spans(a, b time.Duration) (string, string) { return figures(a.Seconds(), b.Seconds(), "s") }
