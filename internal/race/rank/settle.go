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
// its box, or stopped by somebody, says nothing about the approach.
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
