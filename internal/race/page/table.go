package page

import (
	"fmt"
	"strings"

	"github.com/forkbox/forkbox"
)

// table is the result, the best approach first.
type table struct {
	Columns []column
	Rows    []row
}

// column sorts by its cells' keys, as numbers where Number is set.
type column struct {
	Title  string
	Number bool
}

type row struct {
	ID     string // of the approach's section
	Name   string
	Winner bool
	Cells  []cell // the first is the rank, the name comes after it
}

// cell has a Key where it is a figure, which sorts by that; an empty one is of
// a figure that is not known. Tone is how good it is.
type cell struct {
	Text, Key, Tone string
	Figure          bool
}

func figure(text, key string) cell { return cell{Text: text, Key: key, Figure: true} }

func newTable(race forkbox.Race) table {
	t := table{Columns: []column{{"Rank", true}, {"Approach", false}, {"Outcome", false}, {"Checks", true}, {"Score", true}}}
	metrics := metricsOf(race)
	for _, m := range metrics {
		t.Columns = append(t.Columns, column{m.name, true})
	}
	t.Columns = append(t.Columns, column{"Time", true}, column{"CPU", true}, column{"Memory", true}, column{"Diff", true}, column{"Notes", false})
	for i, e := range race.Entries {
		t.Rows = append(t.Rows, row{
			ID: sectionID(i), Name: short(e.Name, mostName), Winner: e.Name == race.Winner && race.Winner != "",
			Cells: cells(e, i, metrics),
		})
	}
	return t
}

func cells(e forkbox.Entry, at int, metrics []metric) []cell {
	list := []cell{rankCell(e), outcomeCell(e), checksCell(e), figure(number(e.Score), key(e.Score))}
	for _, m := range metrics {
		list = append(list, m.cell(at))
	}
	return append(list,
		figure(orDash(e.Took > 0, duration(e.Took)), key(e.Took.Seconds())),
		figure(orDash(e.CPU > 0, duration(e.CPU)), key(e.CPU.Seconds())),
		figure(orDash(e.MemoryPeak > 0, bytesText(e.MemoryPeak)), fmt.Sprint(e.MemoryPeak)),
		diffCell(e.Diff), notesCell(e))
}

func rankCell(e forkbox.Entry) cell {
	text := fmt.Sprint(e.Rank)
	if len(e.Ties) > 0 {
		text += " (tie)"
	}
	return figure(orDash(e.Rank > 0, text), fmt.Sprint(e.Rank))
}

func outcomeCell(e forkbox.Entry) cell {
	if e.Outcome == "" {
		return cell{Text: short(string(e.Phase), mostName)}
	}
	return cell{Text: short(string(e.Outcome), mostName), Tone: tone(e.Outcome)}
}

// tone is a class of the style: never a word from elsewhere.
func tone(o forkbox.Outcome) string {
	switch o {
	case forkbox.OutcomePassed:
		return "good"
	case forkbox.OutcomeFlaky:
		return "doubtful"
	case forkbox.OutcomeCancelled, "":
		return "none"
	}
	return "bad"
}

func checksCell(e forkbox.Entry) cell {
	passed, flaky := 0, 0
	for _, c := range e.Checks {
		if c.Passed {
			passed++
		}
		if c.Flaky {
			flaky++
		}
	}
	text := fmt.Sprintf("%d of %d", passed, len(e.Checks))
	if flaky > 0 {
		text += fmt.Sprintf(", %d flaky", flaky)
	}
	return figure(orDash(len(e.Checks) > 0, text), fmt.Sprint(passed))
}

func diffCell(d forkbox.DiffSize) cell {
	text := fmt.Sprintf("+%d −%d in %s", d.Plus, d.Minus, counted(d.Files, "file"))
	if d.System > 0 {
		text += fmt.Sprintf(", %d elsewhere", d.System)
	}
	if d.Files == 0 && d.System == 0 && len(d.Paths) > 0 {
		text = "directories only"
	}
	return figure(orDash(d.Files > 0 || d.System > 0 || len(d.Paths) > 0, text), fmt.Sprint(d.Plus+d.Minus))
}

func notesCell(e forkbox.Entry) cell {
	var parts []string
	if n := len(e.Risks); n > 0 {
		parts = append(parts, counted(n, "risk"))
	}
	if e.Refused > 0 {
		parts = append(parts, counted(e.Refused, "connection")+" refused")
	}
	if e.Attempt > 1 {
		parts = append(parts, fmt.Sprintf("attempt %d", e.Attempt))
	}
	return cell{Text: orDash(len(parts) > 0, strings.Join(parts, ", "))}
}

func orDash(there bool, text string) string {
	if !there {
		return "–"
	}
	return text
}

// matrix is every check of every approach.
type matrix struct {
	Checks []checkHead
	Rows   []matrixRow
}

type checkHead struct{ Name, Kind string }

type matrixRow struct {
	ID, Name string
	Cells    []checkCell
}

// checkCell says it by a sign, by words and by colour.
type checkCell struct{ Sign, Text, Tone, Why string }

func newMatrix(race forkbox.Race) *matrix {
	m := &matrix{Checks: checkHeads(race)}
	if len(m.Checks) == 0 {
		return nil
	}
	for i, e := range race.Entries {
		r := matrixRow{ID: sectionID(i), Name: short(e.Name, mostName)}
		for at := range m.Checks {
			r.Cells = append(r.Cells, newCheckCell(e, at))
		}
		m.Rows = append(m.Rows, r)
	}
	return m
}

// checkHeads are those of the approach that got furthest: all have the same.
func checkHeads(race forkbox.Race) (list []checkHead) {
	for _, e := range race.Entries {
		for i := len(list); i < min(len(e.Checks), forkbox.MostCommands); i++ {
			list = append(list, checkHead{Name: short(e.Checks[i].Name, mostName), Kind: checkKind(e.Checks[i])})
		}
	}
	return list
}

func checkKind(c forkbox.Checked) string {
	if c.Must {
		return "must pass"
	}
	return "weight " + number(c.Weight)
}

func newCheckCell(e forkbox.Entry, at int) checkCell {
	if at >= len(e.Checks) || len(e.Checks[at].Runs) == 0 && e.Checks[at].Why == "" {
		return checkCell{Sign: "–", Text: "not run", Tone: "none"}
	}
	c := e.Checks[at]
	cell := checkCell{Sign: "✗", Text: "failed", Tone: "bad", Why: short(c.Why, mostReason)}
	switch {
	case c.Flaky:
		cell.Sign, cell.Text, cell.Tone = "~", flakyText(c), "doubtful"
	case c.Passed:
		cell.Sign, cell.Text, cell.Tone = "✓", "passed", "good"
	}
	if len(c.Scores) > 0 {
		cell.Text += ", score " + number(c.Score)
	}
	return cell
}

// flakyText is how often it passed.
func flakyText(c forkbox.Checked) string {
	passed := 0
	for _, r := range c.Runs {
		if r.Exit != nil && r.Exit.Code == 0 {
			passed++
		}
	}
	return fmt.Sprintf("flaky %d/%d", passed, len(c.Runs))
}
