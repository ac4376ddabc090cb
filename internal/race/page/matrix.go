package page

import (
	"fmt"

	"github.com/forkbox/forkbox"
)

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
