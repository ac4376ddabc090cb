package page

import (
	"fmt"
	"math"
	"strconv"

	"github.com/forkbox/forkbox"
)

// metric is one of a race, with what each entry has of it.
type metric struct {
	name   string
	higher bool
	in     measure
	of     []*measured // by entry; nil where there is nothing
}

// measured is what one approach has: values that can be shown, or why not.
type measured struct {
	values            []float64
	median, low, high float64
	why               string
}

// metricsOf gathers them by their place: an approach that was not measured has
// none, and two metrics may have one name.
func metricsOf(race forkbox.Race) []metric {
	most := 0
	for _, e := range race.Entries {
		most = max(most, len(e.Metrics))
	}
	list := make([]metric, min(most, forkbox.MostCommands))
	for i := range list {
		list[i] = gather(race.Entries, i)
	}
	return list
}

func gather(entries []forkbox.Entry, at int) metric {
	m := metric{of: make([]*measured, len(entries))}
	unit, largest := "", 0.0
	for i, e := range entries {
		if at >= len(e.Metrics) {
			continue
		}
		from := e.Metrics[at]
		m.name, m.higher, unit = short(from.Name, 60), from.Higher, from.Unit
		m.of[i] = newMeasured(from)
		for _, v := range m.of[i].values {
			largest = max(largest, math.Abs(v))
		}
	}
	m.in = measureFor(unit, largest)
	return m
}

func newMeasured(from forkbox.Measured) *measured {
	m := &measured{values: finite(from.Values), why: short(from.Why, mostReason)}
	if len(m.values) > forkbox.MostRuns {
		m.values = m.values[:forkbox.MostRuns]
	}
	if marks := finite([]float64{from.Median, from.Low, from.High}); len(marks) == 3 {
		m.median, m.low, m.high = marks[0], min(marks[1], marks[2]), max(marks[1], marks[2])
	} else {
		m.values = nil
	}
	return m
}

// cell is the median, and the quartiles where it was measured more than once.
func (m metric) cell(entry int) cell {
	of := m.of[entry]
	switch {
	case of == nil:
		return figure("–", "")
	case len(of.values) == 0:
		return figure(orDash(of.why != "", "no value"), "")
	case len(of.values) == 1:
		return figure(m.in.text(of.median), key(of.median))
	}
	text := fmt.Sprintf("%s (%s to %s)", m.in.text(of.median), m.in.bare(of.low), m.in.bare(of.high))
	return figure(text, key(of.median))
}

// better says which way is the good one.
func (m metric) better() string {
	if m.higher {
		return "Higher is better."
	}
	return "Lower is better."
}

// key is a number for the script that sorts.
func key(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
