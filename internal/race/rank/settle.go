package rank

import (
	"fmt"
	"math"
	"slices"

	"github.com/forkbox/forkbox"
)

// Share is which part of the full score a number is, from 0 to 1: what
// [forkbox.Checked] has as the score of a run.
func Share(c forkbox.RaceCheck, number float64) float64 {
	of := c.Of
	if of == 0 {
		of = 1
	}
	return within1(number / of)
}

func within1(v float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return min(1, max(0, v))
}

// Settle makes of a check's runs what came of it. It passed when it did so in
// more runs than not; where no run has an answer it did not.
func Settle(c *forkbox.Checked) {
	passed, runs := tally(*c)
	c.Passed = 2*passed > runs
	c.Flaky = passed > 0 && passed < runs
	switch {
	case len(c.Scores) > 0:
		c.Score = within1(median(slices.Sorted(slices.Values(c.Scores))))
	case c.Passed:
		c.Score = 1
	default:
		c.Score = 0
	}
}

// tally counts the runs that say something, and those that passed.
func tally(c forkbox.Checked) (passed, runs int) {
	for _, r := range c.Runs {
		if !answers(r.Exit) {
			continue
		}
		runs++
		if r.Exit.Code == 0 && (r.Exit.Cause == "" || r.Exit.Cause == forkbox.CauseExited) {
			passed++
		}
	}
	return passed, runs
}

// answers says whether an exit is the check's own doing. One that was lost with
// its box, or stopped by a user, says nothing about the approach.
func answers(e *forkbox.Exit) bool {
	if e == nil {
		return false
	}
	switch e.Cause {
	case forkbox.CauseLost, forkbox.CauseStopped, forkbox.CauseShutdown, forkbox.CauseIdle:
		return false
	}
	return true
}

// Judge makes of settled checks the outcome of an approach, passed, flaky or
// failed, and its score: the mean of all, by their weight.
func Judge(checks []forkbox.Checked) (o forkbox.Outcome, score float64, why string) {
	var failed, flaky []string
	for _, c := range checks {
		switch {
		case c.Must && !c.Passed:
			failed = append(failed, title(c.Name)+failure(c))
		case c.Must && c.Flaky:
			passed, runs := tally(c)
			flaky = append(flaky, fmt.Sprintf("%s passed %d of %d times", title(c.Name), passed, runs))
		}
	}
	switch score = scoreOf(checks); {
	case len(failed) == 1:
		return forkbox.OutcomeFailed, score, "its check " + failed[0]
	case len(failed) > 1:
		return forkbox.OutcomeFailed, score, "its checks failed: " + listed(names(checks, failing))
	case len(flaky) > 0:
		return forkbox.OutcomeFlaky, score, "its check " + listed(flaky)
	}
	return forkbox.OutcomePassed, score, ""
}

func failing(c forkbox.Checked) bool { return c.Must && !c.Passed }

func names(checks []forkbox.Checked, which func(forkbox.Checked) bool) (list []string) {
	for _, c := range checks {
		if which(c) {
			list = append(list, title(c.Name))
		}
	}
	return list
}

// failure says how a check failed, as what follows its name.
func failure(c forkbox.Checked) string {
	if passed, runs := tally(c); c.Flaky {
		return fmt.Sprintf(" passed only %d of %d times", passed, runs)
	}
	for _, r := range slices.Backward(c.Runs) {
		if !answers(r.Exit) {
			continue
		}
		switch e := r.Exit; {
		case e.Cause == forkbox.CauseTimeout:
			return " took too long"
		case e.Cause == forkbox.CauseNotRun:
			return " could not be run"
		case e.Cause == forkbox.CauseExited || e.Cause == "":
			return fmt.Sprintf(" failed (exit %d)", e.Code)
		default:
			return fmt.Sprintf(" failed (%s)", e.Cause)
		}
	}
	return " failed"
}

func scoreOf(checks []forkbox.Checked) float64 {
	sum, weights := 0.0, 0.0
	for _, c := range checks {
		w := c.Weight
		if !(w > 0) {
			w = 1
		}
		sum, weights = sum+w*within1(c.Score), weights+w
	}
	if weights == 0 {
		return 1
	}
	return within1(sum / weights)
}

// Need is an approach that must be measured once more.
type Need struct {
	Metric   int // in RaceSpec.Metrics
	Approach string
}

// Unsettled says who must be measured more before there is a verdict: the
// leaders whom noise may have put in their order. Those of the first metric
// come first; who has no time left for that may go on with the next, which
// decides if they tie. It does not know budgets, and waits for no first runs:
// an approach that has no value is not named.
func Unsettled(spec forkbox.RaceSpec, entries []forkbox.Entry) []Need {
	leaders := members(spec, entries)
	for _, r := range []rule{byOutcome{}, byScore{}} {
		if len(leaders) > 1 {
			leaders = r.split(leaders)[0]
		}
	}
	if len(leaders) < 2 || !leaders[0].good() {
		return nil
	}
	var needs []Need
	for i, m := range spec.Metrics {
		r := byMetric{i, m}
		if open := r.leaders(leaders, ahead); len(open) > 1 {
			needs = append(needs, r.needs(open)...)
		}
		if leaders = r.leaders(leaders, verdict); len(leaders) < 2 {
			return needs
		}
	}
	return needs
}

// needs are those of a group who have fewer values than there may be. A number
// that is the same each time, for all of them, stays so.
func (r byMetric) needs(group []*member) (needs []Need) {
	_, most, _ := Plan(r.metric)
	varies := false
	for _, m := range group {
		s := m.samples[r.i]
		if len(s) == 0 {
			return nil
		}
		varies = varies || r.metric.Time || len(s) == 1 || !s.steady()
		if len(s) < most {
			needs = append(needs, Need{r.i, m.Name})
		}
	}
	if !varies {
		return nil
	}
	return needs
}

// binaryLine is how many bytes of a binary file count as a line. It has none,
// and would else be the smallest diff there is.
const binaryLine = 80

// Count adds a change in the workspace to how much an approach changed. A
// directory is no file; one that is gone counts as what was in it.
func Count(size *forkbox.DiffSize, c forkbox.Change) {
	plus, minus := c.Plus, c.Minus
	if c.Binary {
		plus, minus = binaryLines(c)
	}
	size.Plus, size.Minus = size.Plus+plus, size.Minus+minus
	switch {
	case c.Type != "dir" || c.Kind == forkbox.Renamed:
		size.Files++
	case c.Kind == forkbox.Deleted:
		size.Files += c.Entries
	}
}

// binaryLines takes the whole content for changed where any of it is.
func binaryLines(c forkbox.Change) (plus, minus int) {
	lines := func(bytes int64) int { return int((bytes + binaryLine - 1) / binaryLine) }
	switch c.Kind {
	case forkbox.Added:
		return lines(c.Size), 0
	case forkbox.Deleted:
		return 0, lines(c.Size)
	case forkbox.Mode, forkbox.Linked:
		return 0, 0
	case forkbox.Renamed:
		if c.Similarity == 100 {
			return 0, 0
		}
	}
	return lines(c.Size), lines(c.OldSize)
}
