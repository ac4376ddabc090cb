package rank

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/forkbox/forkbox"
)

// title is a command's name, or the command itself, on one short line: it may be
// a script of many lines.
func title(name string) string {
	const most = 60
	var b strings.Builder
	for _, r := range strings.TrimSpace(name) {
		if b.Len() >= most {
			return strings.TrimSpace(b.String()) + "…"
		}
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			b.WriteByte(' ')
		case r == utf8.RuneError || !unicode.IsPrint(r):
			b.WriteRune('·')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// listed is "a", "a and b", "a, b and c", "a, b, c and 4 more".
func listed(names []string) string {
	const most = 5
	if len(names) > most {
		names = append(slices.Clone(names[:most-1]), fmt.Sprintf("%d more", len(names)-most+1))
	}
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// figures are two values with their unit, with as many digits as it takes to
// tell them apart.
func figures(a, b float64, unit string) (string, string) {
	if unit != "s" && isWhole(a) && isWhole(b) {
		return figure(a, unit, 1), figure(b, unit, 1)
	}
	for digits := 3; digits < 17; digits++ {
		if x, y := figure(a, unit, digits), figure(b, unit, digits); x != y || a == b {
			return x, y
		}
	}
	return figure(a, unit, 17), figure(b, unit, 17)
}

func isWhole(v float64) bool { return v == math.Trunc(v) && math.Abs(v) < 1e15 }

// figure is a value as people write it: 1.10 s, 250 ms, 1200 req.
func figure(v float64, unit string, digits int) string {
	if unit == "s" && v != 0 {
		switch a := math.Abs(v); {
		case a < 0.9995e-3:
			v, unit = v*1e6, "µs"
		case a < 0.9995:
			v, unit = v*1e3, "ms"
		}
	}
	if unit == "" {
		return decimal(v, digits)
	}
	return decimal(v, digits) + " " + unit
}

// decimal has at least so many digits that mean something, and all whole ones.
func decimal(v float64, digits int) string {
	if a := math.Abs(v); v != 0 && (a < 1e-4 || a >= 1e15) {
		return strconv.FormatFloat(v, 'g', digits, 64)
	}
	_, power, _ := strings.Cut(strconv.FormatFloat(v, 'e', digits-1, 64), "e")
	exponent, _ := strconv.Atoi(power)
	return strconv.FormatFloat(v, 'f', max(0, digits-1-exponent), 64)
}

// percent is how far a is from b, in percent of b: "16 %".
func percent(a, b float64) string {
	p := 100 * math.Abs(a-b) / math.Abs(b)
	switch {
	case p >= 10:
		return strconv.FormatFloat(p, 'f', 0, 64) + " %"
	case p >= 0.1:
		return strconv.FormatFloat(p, 'f', 1, 64) + " %"
	}
	return decimal(p, 1) + " %"
}

func likelihood(p float64) string {
	if p < 0.001 {
		return "p < 0.001"
	}
	return "p = " + strconv.FormatFloat(p, 'f', 3, 64)
}

// clipped is foreign text on one line, not longer than a sentence.
func clipped(text string) string {
	const most = 300
	text = strings.ToValidUTF8(text, "·")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
}

// What is clear without a test: where there are too few values for one, only
// this counts.
const (
	clearShare = 0.2
	clearTime  = 200 * time.Millisecond
)

// untested stands for a p where no test was made.
const untested = -1

// caution is how unlikely noise has to be before a difference counts.
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
