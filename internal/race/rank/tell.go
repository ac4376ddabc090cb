package rank

import (
	"math"
	"time"

	"github.com/forkbox/forkbox"
)

// What is clear without a test: where there are too few values for one, only
// this counts.
const (
	clearShare = 0.2
	clearTime  = 200 * time.Millisecond
)

// untested stands for a p where no test was made.
const untested = -1

// caution is how sure somebody has to be that it is not noise.
type caution int

const (
	// verdict is at the end, when there will be no more values.
	verdict caution = iota
	// ahead is while more can be measured. Looking again and again makes it
	// likely that chance looks like a difference at some time; who stops early
	// only when that is very unlikely, and else looks once at the end, is as
	// often wrong as with one look.
	ahead
)

func (c caution) limit() float64 {
	if c == ahead {
		return unlikely / 10
	}
	return unlikely
}

// tell says whether two samples of a metric differ by more than noise, and how
// likely noise does that, or [untested].
func tell(m forkbox.Metric, a, b sample, how caution) (bool, float64) {
	_, most, _ := Plan(m)
	differ := apart(a.median(), b.median())
	few := min(len(a), len(b))
	switch {
	case !m.Time && a.steady() && b.steady() && (few > 1 || how == verdict || most == 1):
		return differ > m.Tolerance, untested
	case how == ahead && least(len(a), len(b)) >= unlikely:
		return false, untested
	case !m.Time && few == 1:
		return !a.overlaps(b) && differ > tolerance(m), untested
	case least(len(a), len(b)) >= unlikely:
		return !a.overlaps(b) && plain(m, a.median(), b.median()), untested
	}
	p := chance(a, b)
	return p < how.limit() && differ > tolerance(m), p
}

// tolerance is which difference matters between numbers that vary.
func tolerance(m forkbox.Metric) float64 {
	if m.Tolerance > 0 {
		return m.Tolerance
	}
	return 0.01
}

// plain says whether a difference is so large that few values show it.
func plain(m forkbox.Metric, a, b float64) bool {
	if m.Time && math.Abs(a-b) <= clearTime.Seconds() {
		return false
	}
	return apart(a, b) > max(clearShare, m.Tolerance)
}

// Plan is how a metric is measured: at least how often, and while noise could
// explain a difference at most how often, and how long for one approach. A
// number that was asked for once is taken as it is.
func Plan(m forkbox.Metric) (runs, most int, budget time.Duration) {
	if runs = m.Runs; runs == 0 {
		runs = 1
		if m.Time {
			runs = 10
		}
		if m.Most > 0 {
			runs = min(runs, m.Most)
		}
	}
	if most = m.Most; most == 0 {
		most = runs
		if runs > 1 {
			most = min(3*runs, forkbox.MostRuns)
		}
	}
	if budget = m.Budget; budget == 0 {
		budget = time.Minute
	}
	return runs, max(runs, most), budget
}
