package race

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

// raceBoard is what is known of a race that runs, as its events told it.
type raceBoard struct {
	name  string
	began time.Time
	rows  []raceRow
	said  string // the last that was for people
}

// raceRow is an approach.
type raceRow struct {
	forkbox.Entry
	line   string // the last that it printed
	cpu    float64
	memory int64
}

func (b *raceBoard) take(e forkbox.RaceEvent) {
	switch {
	case e.Record != nil:
		b.begin(*e.Record)
	case e.Kind == forkbox.RaceNote:
		b.said = e.Line
	case e.Kind == forkbox.RaceEntry && e.Entry != nil:
		b.row(cmp.Or(e.Approach, e.Entry.Name)).Entry = *e.Entry
	case e.Approach == "": // of the setup, which is no approach
	case e.Kind == forkbox.RaceOutput:
		b.row(e.Approach).line = e.Line
	case e.Kind == forkbox.RaceUsage:
		row := b.row(e.Approach)
		row.cpu, row.memory = e.CPU, e.Memory
	}
}

// begin has the whole record. Another daemon sends it again.
func (b *raceBoard) begin(race forkbox.Race) {
	b.name, b.began = race.Name, race.Created
	for _, entry := range race.Entries {
		b.row(entry.Name).Entry = entry
	}
}

func (b *raceBoard) row(name string) *raceRow {
	for i := range b.rows {
		if b.rows[i].Name == name {
			return &b.rows[i]
		}
	}
	b.rows = append(b.rows, raceRow{Entry: forkbox.Entry{Name: name, Phase: forkbox.PhaseWaiting}})
	return &b.rows[len(b.rows)-1]
}

// raceRoom is how much there is to draw on.
type raceRoom struct {
	cols, rows int
	colour     bool
}

// render is the board as lines that fit.
func (b *raceBoard) render(room raceRoom, now time.Time) []string {
	if room.rows < 1 || room.cols < 1 {
		return nil
	}
	lines := []string{terminal.CutCells(b.heading(now), room.cols)}
	if b.said != "" {
		lines = append(lines, terminal.CutCells(terminal.Printable(b.said), room.cols))
	}
	shown, hidden := b.visible(room.rows - len(lines))
	for _, row := range shown {
		lines = append(lines, row.render(b.nameWidth(), room, now))
	}
	if len(hidden) > 0 {
		lines = append(lines, terminal.CutCells(moreText(hidden), room.cols))
	}
	return lines[:min(len(lines), room.rows)]
}

func (b *raceBoard) heading(now time.Time) string {
	if b.name == "" {
		return "starting …"
	}
	return fmt.Sprintf("race %s   %s   %s", terminal.Printable(b.name), raceCounts(b.rows), raceSpan(now.Sub(b.began)))
}

// visible is what fits into so many lines, and the rest, for which one of them
// is needed. Those that do something come first.
func (b *raceBoard) visible(lines int) (shown, hidden []raceRow) {
	if len(b.rows) <= lines {
		return b.rows, nil
	}
	sorted := slices.Clone(b.rows)
	slices.SortStableFunc(sorted, func(x, y raceRow) int { return x.urgency() - y.urgency() })
	n := max(lines-1, 0)
	return sorted[:n], sorted[n:]
}

func (r raceRow) urgency() int {
	switch r.Phase {
	case forkbox.PhaseRunning, forkbox.PhaseChecking, forkbox.PhaseMeasuring, forkbox.PhaseForking:
		return 0
	case forkbox.PhaseDone:
		return 2
	}
	return 1
}

// longestName is as much of a name as a row has room for.
const longestName = 24

func (b *raceBoard) nameWidth() int {
	width := 0
	for _, row := range b.rows {
		width = max(width, terminal.CellsOf(terminal.Printable(row.Name)))
	}
	return min(width, longestName)
}
