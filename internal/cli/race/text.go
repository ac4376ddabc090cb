package race

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

// raceSpan is how people read how long something took.
func raceSpan(d time.Duration) string {
	switch {
	case d <= 0:
		return "0s"
	case d < time.Second:
		return fmt.Sprintf("%dms", max(d.Milliseconds(), 1))
	case d < time.Minute-50*time.Millisecond:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Hour-500*time.Millisecond:
		d = d.Round(time.Second)
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	d = d.Round(time.Minute)
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}

// raceMeasure is the middle of what was measured, and half of what the middle
// half of it spreads over.
func raceMeasure(m forkbox.Measured) string {
	if len(m.Values) == 0 {
		return "-"
	}
	scale, unit := raceUnit(m.Median, m.Unit)
	text := raceNumber(m.Median * scale)
	if len(m.Values) > 1 {
		text += " ± " + raceDecimals((m.High-m.Low)/2*scale, m.Median*scale)
	}
	if unit != "" {
		text += " " + terminal.Printable(unit)
	}
	return text
}

// raceUnit is what to count times in.
func raceUnit(value float64, unit string) (scale float64, name string) {
	switch {
	case unit != "s" || value == 0 || math.Abs(value) >= 1:
		return 1, unit
	case math.Abs(value) >= 1e-3:
		return 1e3, "ms"
	}
	return 1e6, "µs"
}

// raceNumber has three digits that mean something; a whole number has all of
// its own.
func raceNumber(v float64) string { return raceDecimals(v, v) }

// raceDecimals is a number with as many decimals as another one needs.
func raceDecimals(v, like float64) string {
	size := math.Abs(like)
	switch {
	case v == math.Trunc(v) && like == math.Trunc(like) && math.Abs(v) < 1e15:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case size >= 1e15 || size < 1e-4 && size > 0:
		return strconv.FormatFloat(v, 'g', 3, 64)
	case size >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case size >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case size >= 1:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strconv.FormatFloat(v, 'f', 2-int(math.Floor(math.Log10(max(size, 1e-4))))-1, 64)
}

// diffText is how much an approach changed.
func diffText(d forkbox.DiffSize) string {
	var parts []string
	if d.Files > 0 {
		parts = append(parts, fmt.Sprintf("%s +%d -%d", terminal.Plural(d.Files, "file"), d.Plus, d.Minus))
	}
	if d.System > 0 {
		parts = append(parts, fmt.Sprintf("%d system", d.System))
	}
	switch {
	case len(parts) == 0 && len(d.Paths) > 0:
		return "directories only"
	case len(parts) == 0:
		return "none"
	}
	return strings.Join(parts, ", ")
}

// endedRuns is how often a check was run to its end.
func endedRuns(c forkbox.Checked) (n int) {
	for _, run := range c.Runs {
		if run.Exit != nil {
			n++
		}
	}
	return n
}

// passedOf reads 2/3: so many of so many runs passed.
func passedOf(c forkbox.Checked) string {
	passed := 0
	for _, run := range c.Runs {
		if run.Exit != nil && run.Exit.Code == 0 {
			passed++
		}
	}
	return fmt.Sprintf("%d/%d", passed, endedRuns(c))
}

// longestCommand is as much of a command as names it.
const longestCommand = 60

// shortCommand is a command, or its name, where it is only mentioned.
func shortCommand(name string) string {
	return terminal.CutCells(terminal.Printable(name), longestCommand)
}

func countApproaches(n int) string {
	if n == 1 {
		return "1 approach"
	}
	return strconv.Itoa(n) + " approaches"
}

// raceCounts is how far a race has come.
func raceCounts(rows []raceRow) string {
	var active, done int
	for _, row := range rows {
		switch row.urgency() {
		case 0:
			active++
		case 2:
			done++
		}
	}
	text := countApproaches(len(rows)) + fmt.Sprintf(": %d active, %d done", active, done)
	if waiting := len(rows) - active - done; waiting > 0 {
		text += fmt.Sprintf(", %d waiting", waiting)
	}
	return text
}

// moreText is about the approaches that there is no room for.
func moreText(rows []raceRow) string {
	counts := map[forkbox.Phase]int{}
	for _, row := range rows {
		counts[row.Phase]++
	}
	var parts []string
	for _, phase := range []forkbox.Phase{forkbox.PhaseForking, forkbox.PhaseRunning, forkbox.PhaseChecking, forkbox.PhaseMeasuring, forkbox.PhaseWaiting, forkbox.PhaseDone} {
		if n := counts[phase]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, phase))
		}
	}
	return fmt.Sprintf("… %d more: %s", len(rows), strings.Join(parts, ", "))
}
