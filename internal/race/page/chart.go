package page

import (
	"fmt"

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
