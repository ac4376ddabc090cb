package rank

import (
	"math"
	"strings"
	"testing"

	"github.com/forkbox/forkbox"
)

// ran is a check's runs: p passed, f failed, t timed out, l lost, r still runs.
func ran(how string) (runs []forkbox.Ran) {
	for _, c := range how {
		var e *forkbox.Exit
		switch c {
		case 'p':
			e = &forkbox.Exit{Cause: forkbox.CauseExited}
		case 'f':
			e = &forkbox.Exit{Code: 1, Cause: forkbox.CauseExited}
		case 't':
			e = &forkbox.Exit{Code: 124, Cause: forkbox.CauseTimeout}
		case 'l':
			e = &forkbox.Exit{Cause: forkbox.CauseLost}
		case 'n':
			e = &forkbox.Exit{Code: 127, Cause: forkbox.CauseNotRun}
		case 'o':
			e = &forkbox.Exit{Code: 137, Cause: forkbox.CauseOOM}
		}
		runs = append(runs, forkbox.Ran{Exit: e})
	}
	return runs
}

func checked(name, how string) forkbox.Checked {
	c := forkbox.Checked{Name: name, Must: true, Weight: 1, Runs: ran(how)}
	Settle(&c)
	return c
}

func TestSettle(t *testing.T) {
	for how, want := range map[string]struct {
		passed, flaky bool
		score         float64
	}{
		"p": {true, false, 1}, "f": {}, "t": {}, "l": {}, "r": {}, "": {}, "pp": {true, false, 1},
		"fpp": {true, true, 1}, "ffp": {false, true, 0}, "fff": {}, "pf": {false, true, 0},
		"lp": {true, false, 1}, "plr": {true, false, 1}, "fl": {},
	} {
		if c := checked("x", how); c.Passed != want.passed || c.Flaky != want.flaky || c.Score != want.score {
			t.Errorf("%q: %+v, not %+v", how, c, want)
		}
	}
	c := forkbox.Checked{Runs: ran("ppp"), Scores: []float64{0.9, 0.1, 0.5}}
	if Settle(&c); c.Score != 0.5 || !c.Passed || c.Flaky {
		t.Errorf("%+v", c)
	}
	c = forkbox.Checked{Runs: ran("p"), Scores: []float64{math.NaN()}, Score: 7}
	if Settle(&c); c.Score != 0 {
		t.Errorf("%+v", c)
	}
}

func TestShare(t *testing.T) {
	for _, c := range []struct{ of, number, want float64 }{
		{100, 30, 0.3}, {0, 0.3, 0.3}, {100, 300, 1}, {100, -1, 0}, {0, math.NaN(), 0}, {0, math.Inf(1), 1},
	} {
		if got := Share(forkbox.RaceCheck{Of: c.of}, c.number); got != c.want {
			t.Errorf("%v of %v is %v", c.number, c.of, got)
		}
	}
}

func TestJudge(t *testing.T) {
	lint := checked("lint", "f")
	lint.Must, lint.Weight = false, 3
	unstable := checked("unstable", "fpp")
	unstable.Must = false
	for _, c := range []struct {
		checks []forkbox.Checked
		want   forkbox.Outcome
		score  float64
		why    string
	}{
		{nil, forkbox.OutcomePassed, 1, ""},
		{[]forkbox.Checked{checked("a", "p"), lint}, forkbox.OutcomePassed, 0.25, ""},
		{[]forkbox.Checked{checked("a", "p"), unstable}, forkbox.OutcomePassed, 1, ""},
		{[]forkbox.Checked{checked("a", "fpp"), checked("b", "p")}, forkbox.OutcomeFlaky, 1, "its check a passed 2 of 3 times"},
		{[]forkbox.Checked{checked("npm test", "fff"), checked("b", "fpp")}, forkbox.OutcomeFailed, 0.5, "its check npm test failed (exit 1)"},
		{[]forkbox.Checked{checked("a", "ffp")}, forkbox.OutcomeFailed, 0, "its check a passed only 1 of 3 times"},
		{[]forkbox.Checked{checked("a", "t")}, forkbox.OutcomeFailed, 0, "its check a took too long"},
		{[]forkbox.Checked{checked("a", "n")}, forkbox.OutcomeFailed, 0, "its check a could not be run"},
		{[]forkbox.Checked{checked("a", "o")}, forkbox.OutcomeFailed, 0, "its check a failed (oom-killed)"},
		{[]forkbox.Checked{checked("a", "l")}, forkbox.OutcomeFailed, 0, "its check a failed"},
		{[]forkbox.Checked{checked("a", "f"), checked("b", "p"), checked("c", "t")}, forkbox.OutcomeFailed, 1.0 / 3, "its checks failed: a and c"},
	} {
		if o, score, why := Judge(c.checks); o != c.want || math.Abs(score-c.score) > 1e-12 || why != c.why {
			t.Errorf("%+v: %s, %v, %q; not %s, %v, %q", c.checks, o, score, why, c.want, c.score, c.why)
		}
	}
}

// TestHostileNames: a check is called what its author wrote, which may be a
// script.
func TestHostileNames(t *testing.T) {
	_, _, why := Judge([]forkbox.Checked{checked("set -e\n\x1b[31m"+strings.Repeat("x", 1<<20)+"\xff", "f")})
	if len(why) > 200 || strings.ContainsAny(why, "\n\x1b") {
		t.Errorf("%.300q", why)
	}
}
