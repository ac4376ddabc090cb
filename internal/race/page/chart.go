package page

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/forkbox/forkbox"
)

// chart is a row for each approach on a common scale. All its places are text
// that was made from numbers here.
type chart struct {
	ID, Title, Caption string
	Width, Height      int
	AxisY, TextX       string
	Ticks              []tick
	Rows               []chartRow
}

type tick struct{ X, Text string }

// chartRow has a bar from zero, or dots with the box of their quartiles.
type chartRow struct {
	Name, Value, Tone string
	TextY             string
	Y, X, Width       string // of the bar or box
	Median            string // where there is a box
	Dots              string // a path of points
}

// How charts are laid out, in units of the drawing. mostDots bounds all charts
// of a page together.
const (
	chartWidth  = 860
	chartLeft   = 190 // names
	chartRight  = 160 // values
	rowHeight   = 28
	barHeight   = 16
	mostDots    = 40000
	mostOnChart = 26 // characters of a name
)

// charts has the time that the steps took, then each metric.
func charts(race forkbox.Race) (list []chart) {
	if c, any := timeChart(race); any {
		list = append(list, c)
	}
	metrics := metricsOf(race)
	for i, m := range metrics {
		share := mostDots / (len(metrics) * max(len(race.Entries), 1))
		if c, any := metricChart(race, m, max(share, 1)); any {
			c.ID = fmt.Sprintf("chart-%d", i+1)
			list = append(list, c)
		}
	}
	return list
}

func timeChart(race forkbox.Race) (c chart, any bool) {
	var seconds []float64
	for _, e := range race.Entries {
		seconds = append(seconds, max(e.Took, 0).Seconds())
		any = any || e.Took > 0
	}
	s := newScale(seconds, true, chartLeft, chartWidth-chartLeft-chartRight)
	c = chart{ID: "chart-0", Title: "Time", Caption: "How long the steps of each approach took, in one run beside the others."}
	for i, e := range race.Entries {
		r := chartRow{Name: onChart(e.Name), Tone: tone(e.Outcome), Value: duration(e.Took)}
		r.X, r.Width = coordinate(s.at(0)), coordinate(s.at(seconds[i])-s.at(0))
		c.Rows = append(c.Rows, r)
	}
	c.lay(s, measure{1, "s"})
	return c, any
}

func metricChart(race forkbox.Race, m metric, share int) (c chart, any bool) {
	var all []float64
	for _, of := range m.of {
		if of != nil && len(of.values) > 0 {
			all = append(append(all, of.values...), of.low, of.median, of.high)
		}
	}
	s := newScale(all, false, chartLeft, chartWidth-chartLeft-chartRight)
	c = chart{Title: m.name, Caption: m.caption(share)}
	for i, e := range race.Entries {
		if of := m.of[i]; of != nil {
			c.Rows = append(c.Rows, newMetricRow(e, m, of, s))
		}
	}
	c.lay(s, m.in)
	for i, of := range present(m.of) {
		c.Rows[i].Dots = dots(of.values, s, i, share)
	}
	return c, len(all) > 0
}

func newMetricRow(e forkbox.Entry, m metric, of *measured, s scale) chartRow {
	r := chartRow{Name: onChart(e.Name), Tone: tone(e.Outcome), Value: "no value"}
	if len(of.values) > 0 {
		r.Value = m.in.text(of.median)
		r.X, r.Width = coordinate(s.at(of.low)), coordinate(max(s.at(of.high)-s.at(of.low), 1))
		r.Median = coordinate(s.at(of.median))
	}
	return r
}

func present(of []*measured) (list []*measured) {
	for _, m := range of {
		if m != nil {
			list = append(list, m)
		}
	}
	return list
}

func (m metric) caption(share int) string {
	text := "Each dot is a run, the bar holds the middle half of them, the line is the median. " + m.better()
	for _, of := range m.of {
		if of != nil && len(of.values) > share {
			return text + fmt.Sprintf(" There are too many runs to show: the first %d of each are dots.", share)
		}
	}
	return text
}

// lay places rows and the axis.
func (c *chart) lay(s scale, in measure) {
	c.Width, c.Height = chartWidth, len(c.Rows)*rowHeight+30
	c.AxisY, c.TextX = coordinate(float64(len(c.Rows)*rowHeight)), coordinate(chartWidth-chartRight+12)
	for i := range c.Rows {
		c.Rows[i].Y = coordinate(middle(i) - barHeight/2)
		c.Rows[i].TextY = coordinate(middle(i) + 4)
	}
	for _, v := range s.ticks() {
		text := strings.TrimSpace(tickText(v*in.factor) + " " + in.unit)
		c.Ticks = append(c.Ticks, tick{X: coordinate(s.at(v)), Text: text})
	}
}

func middle(row int) float64 { return float64(row*rowHeight) + rowHeight/2 }

// dots are points of one path. They are moved up and down a little, in the order
// of the runs, so that equal ones do not hide each other.
func dots(values []float64, s scale, row, most int) string {
	var b strings.Builder
	for i, v := range values {
		if i == most {
			break
		}
		up := float64(i*7%11) - 5
		b.WriteString("M" + coordinate(s.at(v)) + " " + coordinate(middle(row)+up) + "h0")
	}
	return b.String()
}

// onChart is a name that fits beside a row.
func onChart(name string) string {
	text := []rune(short(name, mostName))
	if len(text) > mostOnChart {
		return string(text[:mostOnChart-1]) + "…"
	}
	return string(text)
}

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

// coordinate is a place in a chart: a tenth of a unit is less than the eye
// sees.
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
