package rank

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/forkbox/forkbox"
)

// byMetric compares by one of the numbers. Who has none comes last.
type byMetric struct {
	i      int
	metric forkbox.Metric
}

func (r byMetric) split(g []*member) [][]*member {
	have, missing := r.sorted(g)
	parts := byBest(have, r.key, r.told(verdict))
	if len(missing) > 0 {
		parts = append(parts, missing)
	}
	return parts
}

// leaders are those that cannot be told from the best; all if none has a value.
func (r byMetric) leaders(g []*member, how caution) []*member {
	have, missing := r.sorted(g)
	if len(have) == 0 {
		return missing
	}
	alike, _ := likeFirst(have, r.told(how))
	return alike
}

// sorted are those who have a value, the best first, and those who have none.
func (r byMetric) sorted(g []*member) (have, missing []*member) {
	for _, m := range g {
		if len(m.samples[r.i]) > 0 {
			have = append(have, m)
		} else {
			missing = append(missing, m)
		}
	}
	slices.SortStableFunc(have, func(a, b *member) int { return cmp.Or(cmp.Compare(r.key(a), r.key(b)), inList(a, b)) })
	return have, missing
}

func (r byMetric) told(how caution) func(best, other *member) bool {
	return func(best, other *member) bool {
		told, _ := tell(r.metric, best.samples[r.i], other.samples[r.i], how)
		return told
	}
}

func (r byMetric) key(m *member) float64 {
	if v := m.samples[r.i].median(); !r.metric.Higher {
		return v
	}
	return -m.samples[r.i].median()
}

// name is what people call it.
func (r byMetric) name(m *member) string {
	measured := ""
	if r.i < len(m.Metrics) {
		measured = m.Metrics[r.i].Name
	}
	return title(cmp.Or(r.metric.Name, measured, r.metric.Run, r.metric.Extract.File, fmt.Sprintf("metric %d", r.i+1)))
}

func (r byMetric) unit() string {
	if r.metric.Time {
		return "s"
	}
	return title(r.metric.Unit)
}

func (r byMetric) blame(worse, better *member) string {
	if len(worse.samples[r.i]) == 0 {
		return r.absence(worse)
	}
	w, b := figures(worse.samples[r.i].median(), better.samples[r.i].median(), r.unit())
	return fmt.Sprintf("%s: %s %s against %s", r.worse(), r.name(worse), w, b)
}

// absence says that there is no value, and why.
func (r byMetric) absence(m *member) string {
	if r.i < len(m.Metrics) && m.Metrics[r.i].Why != "" {
		return fmt.Sprintf("no value for %s: %s", r.name(m), clipped(m.Metrics[r.i].Why))
	}
	return "no value for " + r.name(m)
}

func (r byMetric) worse() string {
	switch {
	case r.metric.Time && !r.metric.Higher:
		return "slower"
	case r.metric.Higher:
		return "lower"
	}
	return "higher"
}

func (r byMetric) praise(best, next *member) string {
	if len(next.samples[r.i]) == 0 {
		return fmt.Sprintf("%s has %s", next.Name, r.absence(next))
	}
	a, b := best.samples[r.i], next.samples[r.i]
	x, y := figures(a.median(), b.median(), r.unit())
	verb, whose := "is", next.Name+"'s"
	if r.metric.Time {
		verb, whose = "takes", next.Name
	}
	text := fmt.Sprintf("%s %s %s, ", r.name(best), verb, x)
	switch {
	case b.median() == 0 || (a.median() < 0) != (b.median() < 0):
		text += fmt.Sprintf("against %s of %s", y, next.Name)
	case abs(a.median()) < abs(b.median()):
		text += fmt.Sprintf("%s less than %s", percent(a.median(), b.median()), whose)
	default:
		text += fmt.Sprintf("%s more than %s", percent(a.median(), b.median()), whose)
	}
	if _, p := tell(r.metric, a, b, verdict); p != untested {
		text += " (" + likelihood(p) + ")"
	}
	return text
}

// noise says that two cannot be told apart by this, where they differ at all.
func (r byMetric) noise(a, b *member) (string, bool) {
	s, t := a.samples[r.i], b.samples[r.i]
	if len(s) == 0 || len(t) == 0 || s.median() == t.median() {
		return "", false
	}
	if told, _ := tell(r.metric, s, t, verdict); told {
		return "", false
	}
	x, y := figures(s.median(), t.median(), r.unit())
	if !r.metric.Time && s.steady() && t.steady() {
		return fmt.Sprintf("the difference in %s is within its tolerance (%s and %s)", r.name(a), x, y), true
	}
	return fmt.Sprintf("noise explains the difference in %s (%s and %s)", r.name(a), x, y), true
}

func abs(v float64) float64 { return max(v, -v) }

// Summarize fills in the median and the quartiles of what was measured.
func Summarize(m *forkbox.Measured) {
	m.Median, m.Low, m.High = 0, 0, 0
	if len(m.Values) == 0 {
		return
	}
	sorted := slices.Sorted(slices.Values(m.Values))
	m.Median, m.Low, m.High = median(sorted), quantile(sorted, 0.25), quantile(sorted, 0.75)
}

func median(sorted []float64) float64 { return quantile(sorted, 0.5) }

// quantile lies between two values where none is right at it.
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	below := int(at)
	if below+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	low, high := sorted[below], sorted[below+1]
	if part := at - float64(below); part > 0 && low != high {
		return low*(1-part) + high*part
	}
	return low
}

// sample is what was measured of one approach, in ascending order.
type sample []float64

// sampleOf leaves out what is no number: it would be neither before nor after
// any other.
func sampleOf(values []float64) sample {
	s := make(sample, 0, len(values))
	for _, v := range values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			s = append(s, v)
		}
	}
	slices.Sort(s)
	return s
}

func (s sample) median() float64 { return median(s) }

// steady says that it was the same each time: a number that does not vary, like
// the size of a file.
func (s sample) steady() bool { return s[0] == s[len(s)-1] }

// overlaps says whether some value of the one lies in the range of the other.
func (s sample) overlaps(t sample) bool {
	return s[0] <= t[len(t)-1] && t[0] <= s[len(s)-1]
}

// apart is how far two values are from each other, relative to the larger.
func apart(a, b float64) float64 {
	if a == b {
		return 0
	}
	return math.Abs(a-b) / max(math.Abs(a), math.Abs(b))
}
