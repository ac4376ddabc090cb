package rank

import (
	"math"
	"slices"

	"github.com/forkbox/forkbox"
)

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
