package race

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

// raceColumn is a column of the table of a race. One in which no approach has
// anything is left out.
type raceColumn struct {
	head string
	cell func(forkbox.Entry) string
}

// writeRaceTable has the approaches in the order of the record: ranked, the best
// first, once the race has ended.
func writeRaceTable(out io.Writer, race forkbox.Race) error {
	columns := raceColumns(race)
	rows := make([][]string, 1+len(race.Entries))
	for _, c := range columns {
		rows[0] = append(rows[0], c.head)
		for i, e := range race.Entries {
			rows[1+i] = append(rows[1+i], c.cell(e))
		}
	}
	_, err := io.WriteString(out, inColumns(rows))
	return err
}

// inColumns has each cell below the one above it, on terminals that give some
// characters two columns: a tabwriter counts characters.
func inColumns(rows [][]string) string {
	widths := map[int]int{}
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], terminal.CellsOf(cell))
		}
	}
	var text strings.Builder
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			line.WriteString(terminal.PadCells(cell, widths[i]) + "  ")
		}
		text.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return text.String()
}

func raceColumns(race forkbox.Race) []raceColumn {
	columns := []raceColumn{{"RANK", rankCell}, {"NAME", func(e forkbox.Entry) string { return terminal.Printable(e.Name) }}, {"OUTCOME", outcomeCell}}
	if len(race.Spec.Checks) > 0 {
		columns = append(columns, raceColumn{"CHECKS", checksCell})
	}
	if scores(race.Spec) {
		columns = append(columns, raceColumn{"SCORE", scoreCell})
	}
	columns = append(columns, metricColumns(race)...)
	columns = append(columns,
		raceColumn{"TIME", func(e forkbox.Entry) string { return spanCell(e.Took) }},
		raceColumn{"CPU", func(e forkbox.Entry) string { return spanCell(e.CPU) }},
		raceColumn{"MEMORY", func(e forkbox.Entry) string { return bytesCell(e.MemoryPeak) }},
		raceColumn{"DIFF", diffCell},
	)
	if anyNotes(race) {
		columns = append(columns, raceColumn{"NOTES", notesCell})
	}
	return columns
}

// scores says whether a score tells more than who passed.
func scores(spec forkbox.RaceSpec) bool {
	for _, c := range spec.Checks {
		if !c.Must || c.Score != nil {
			return true
		}
	}
	return false
}

// metricColumns are called by the names of the metrics.
func metricColumns(race forkbox.Race) (columns []raceColumn) {
	for i, m := range race.Spec.Metrics {
		columns = append(columns, raceColumn{terminal.CutCells(terminal.Printable(metricName(m, i)), longestName), func(e forkbox.Entry) string {
			if i >= len(e.Metrics) {
				return "-"
			}
			return raceMeasure(e.Metrics[i])
		}})
	}
	return columns
}

func metricName(m forkbox.Metric, i int) string {
	for _, name := range []string{m.Name, m.Run, terminal.CommandLine(m.Argv), m.Extract.File} {
		if name != "" {
			return name
		}
	}
	return "metric " + strconv.Itoa(i+1)
}

// rankCell marks those that share a rank.
func rankCell(e forkbox.Entry) string {
	switch {
	case e.Rank == 0:
		return "-"
	case len(e.Ties) > 0:
		return strconv.Itoa(e.Rank) + "="
	}
	return strconv.Itoa(e.Rank)
}

func outcomeCell(e forkbox.Entry) string {
	if e.Outcome == "" {
		return string(e.Phase)
	}
	return string(e.Outcome)
}

func checksCell(e forkbox.Entry) string {
	if len(e.Checks) == 0 {
		return "-"
	}
	passed := 0
	for _, c := range e.Checks {
		if c.Passed {
			passed++
		}
	}
	return fmt.Sprintf("%d/%d", passed, len(e.Checks))
}

func scoreCell(e forkbox.Entry) string {
	if len(e.Checks) == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", e.Score)
}

func spanCell(d time.Duration) string {
	if d <= 0 {
		return "-"
	}
	return raceSpan(d)
}

func bytesCell(n int64) string {
	if n <= 0 {
		return "-"
	}
	return terminal.RoundBytes(n)
}

// diffCell knows nothing of approaches that have not got that far.
func diffCell(e forkbox.Entry) string {
	if e.Phase != forkbox.PhaseDone || e.Box == "" && e.BoxName == "" {
		return "-"
	}
	return diffText(e.Diff)
}

func anyNotes(race forkbox.Race) bool {
	for _, e := range race.Entries {
		if notesCell(e) != "" {
			return true
		}
	}
	return false
}

// notesCell says that there is something to look at; what that is comes below
// the table.
func notesCell(e forkbox.Entry) string {
	var notes []string
	note := func(n int, text string) {
		if n > 0 {
			notes = append(notes, text)
		}
	}
	flaky := 0
	for _, c := range e.Checks {
		if c.Flaky {
			flaky++
		}
	}
	note(flaky, terminal.Plural(flaky, "flaky check"))
	note(len(e.Protected), "check put back")
	note(len(e.Risks), terminal.Plural(len(e.Risks), "risk"))
	note(e.Refused, fmt.Sprintf("%d refused", e.Refused))
	note(e.Attempt-1, fmt.Sprintf("attempt %d", e.Attempt))
	return strings.Join(notes, ", ")
}
