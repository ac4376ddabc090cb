package page

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
)

// measure is the unit that all figures of a column or a chart are in, so that
// they can be compared at a glance.
type measure struct {
	factor float64
	unit   string
}

// measureFor makes seconds into smaller units where all of them are short.
func measureFor(unit string, largest float64) measure {
	switch {
	case unit != "s" || largest >= 1 || largest <= 0:
		return measure{1, short(unit, 20)}
	case largest >= 1e-3:
		return measure{1e3, "ms"}
	}
	return measure{1e6, "µs"}
}

func (m measure) text(v float64) string {
	return strings.TrimSpace(m.bare(v) + " " + m.unit)
}

func (m measure) bare(v float64) string { return number(v * m.factor) }

// number has three digits that matter, or all those before the point.
func number(v float64) string {
	size := math.Abs(v)
	switch {
	case v == 0:
		return "0" // also where it is a negative zero
	case v == math.Trunc(v) && size < 1e15:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case size >= 1e15 || size < 1e-6:
		return strconv.FormatFloat(v, 'g', 4, 64)
	}
	digits := 2 - int(math.Floor(math.Log10(size)))
	return strconv.FormatFloat(v, 'f', max(digits, 0), 64)
}

// tickText is a round number, without the digits that adding floats up leaves.
func tickText(v float64) string {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64)
	if size := math.Abs(rounded); size != 0 && (size >= 1e15 || size < 1e-6) {
		return strconv.FormatFloat(rounded, 'g', -1, 64)
	}
	return strconv.FormatFloat(rounded+0, 'f', -1, 64)
}

// duration is as precise as people care about.
func duration(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return d.Round(time.Microsecond).String()
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(10 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

func bytesText(n int64) string {
	value, unit := float64(n), 0
	for value >= 1023.95 && unit < 4 {
		value /= 1024
		unit++
	}
	text := strings.TrimSuffix(fmt.Sprintf("%.1f", value), ".0")
	switch unit {
	case 0:
		return text + " bytes"
	case 1:
		return text + " KiB"
	case 2:
		return text + " MiB"
	case 3:
		return text + " GiB"
	}
	return text + " TiB"
}

// finite leaves out what no chart can show, and tames what is far away: the
// difference of two figures must be one, too.
func finite(values []float64) (kept []float64) {
	for _, v := range values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			kept = append(kept, tame(v))
		}
	}
	return kept
}

func tame(v float64) float64 { return min(max(v, -1e300), 1e300) }

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
