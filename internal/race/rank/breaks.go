package rank

import (
	"fmt"
	"time"
)

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
