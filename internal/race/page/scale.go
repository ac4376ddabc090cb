package page

import (
	"math"
	"strconv"
)

// scale places values on a line of a chart.
type scale struct {
	low, high   float64 // the values at its ends
	left, width float64 // where it lies
}

// newScale has all values on it, with some air at both ends. Values that hardly
// differ get air around them: a chart must not blow up what is nothing.
func newScale(values []float64, fromZero bool, left, width float64) scale {
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		low, high = min(low, v), max(high, v)
	}
	if fromZero {
		low, high = min(low, 0), max(high, 0)
	}
	if len(values) == 0 {
		low, high = 0, 1
	}
	if apart := high - low; apart <= 1e-6*math.Abs(high) || apart < 1e-300 {
		air := max(math.Abs(high)*0.05, 1e-9)
		low, high = low-air, high+air
	}
	air := (high - low) * 0.04
	if !fromZero {
		low -= air
	}
	return scale{low: low, high: high + air, left: left, width: width}
}

func (s scale) at(v float64) float64 {
	return s.left + s.width*(v-s.low)/(s.high-s.low)
}

// coordinate is a place in a chart: a tenth of a unit is less than anybody sees.
func coordinate(v float64) string {
	return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64)
}

// ticks are three to seven round values on the scale.
func (s scale) ticks() (list []float64) {
	step := roundStep((s.high - s.low) / 7)
	if step <= 0 || math.IsInf(step, 0) {
		return nil
	}
	first := math.Ceil(s.low / step)
	for i := range 12 {
		v := (first + float64(i)) * step
		if v > s.high {
			break
		}
		list = append(list, v)
	}
	return list
}

// roundStep is the next of 1, 2, 5, 10, 20 and so on.
func roundStep(raw float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, m := range []float64{1, 2, 5} {
		if m*power >= raw {
			return m * power
		}
	}
	return 10 * power
}
