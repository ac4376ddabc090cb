package change

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/cli/place"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

// statTable is git's --stat: a row per path with a bar of + and -. Columns fit
// the rows that were seen before the first one was written; there may be
// millions, so it does not wait for all of them.
type statTable struct {
	out     *bufio.Writer
	at      place.Place
	colour  bool
	columns int // of the terminal, or as many as git takes
	rows    []statRow

	fixed             bool
	name, count, bar  int // widths
	most              int // the longest bar stands for so many lines
	files, plus, less int
}

// statLookahead is how many rows decide the widths.
const statLookahead = 1000

func newStatTable(out *bufio.Writer, stdout io.Writer, at place.Place) *statTable {
	t := &statTable{out: out, at: at, colour: terminal.TakesColour(stdout), columns: 80}
	if terminal.IsTerminal(stdout) {
		t.columns = int(terminal.WindowSize(stdout.(*os.File)).Cols)
	}
	return t
}

func (t *statTable) add(c forkbox.Change) error {
	t.files++
	t.plus += c.Plus
	t.less += c.Minus
	t.rows = append(t.rows, statRow{name: statName(t.at, c), plus: c.Plus, minus: c.Minus, note: statNote(c)})
	if t.fixed || len(t.rows) == statLookahead {
		return t.flush()
	}
	return nil
}

func (t *statTable) end(forkbox.Summary) error {
	if err := t.flush(); err != nil || t.files == 0 {
		return err
	}
	line := " " + terminal.Plural(t.files, "path") + " changed"
	if t.plus > 0 || t.less == 0 {
		line += ", " + terminal.Plural(t.plus, "insertion") + "(+)"
	}
	if t.less > 0 || t.plus == 0 {
		line += ", " + terminal.Plural(t.less, "deletion") + "(-)"
	}
	_, err := fmt.Fprintln(t.out, line)
	return err
}

func (t *statTable) flush() error {
	t.fix()
	for _, row := range t.rows {
		if _, err := fmt.Fprintln(t.out, t.line(row)); err != nil {
			return err
		}
	}
	t.rows = t.rows[:0]
	return nil
}

// fix chooses the widths, once.
func (t *statTable) fix() {
	if t.fixed {
		return
	}
	t.fixed = true
	for _, row := range t.rows {
		t.name = max(t.name, utf8.RuneCountInString(row.name))
		t.most = max(t.most, row.plus+row.minus)
		if strings.HasPrefix(row.note, "Bin") {
			t.count = 3
		}
	}
	t.count = max(t.count, len(strconv.Itoa(t.most)))
	room := t.columns - len(" ") - len(" | ") - t.count - len(" ")
	if most := room * 5 / 8; t.name > most {
		t.name = max(most, 10)
	}
	t.bar = max(room-t.name, 6)
}

func (t *statTable) line(row statRow) string {
	name := fit(row.name, t.name)
	if row.note != "" {
		return fmt.Sprintf(" %s | %s", name, row.note)
	}
	plus, minus := t.scale(row.plus, row.minus)
	return strings.TrimRight(fmt.Sprintf(" %s | %*d %s%s", name, t.count, row.plus+row.minus,
		t.paint(terminal.Green, strings.Repeat("+", plus)), t.paint(terminal.Red, strings.Repeat("-", minus))), " ")
}

func (t *statTable) paint(c terminal.Colour, bar string) string {
	if !t.colour || bar == "" {
		return bar
	}
	return c.Paint(bar)
}

// scale makes a bar fit. What there is any of has at least one sign.
func (t *statTable) scale(plus, minus int) (int, int) {
	if t.most <= t.bar {
		return min(plus, t.bar), min(minus, t.bar)
	}
	part := func(n int) int {
		if n == 0 {
			return 0
		}
		return min(1+n*(t.bar-1)/t.most, t.bar)
	}
	total := part(plus + minus)
	if plus > 0 && minus > 0 {
		total = max(total, 2)
	}
	if plus < minus {
		return part(plus), total - part(plus)
	}
	return total - part(minus), part(minus)
}

type statRow struct {
	name        string
	plus, minus int
	note        string // in place of a bar
}

// fit pads a name, and cuts the front of one that is too long.
func fit(name string, width int) string {
	n := utf8.RuneCountInString(name)
	if n > width {
		runes := []rune(name)
		return "..." + string(runes[n-width+3:])
	}
	return name + strings.Repeat(" ", max(width-n, 0))
}

func statName(at place.Place, c forkbox.Change) string {
	if c.From == "" {
		return changePath(at, c)
	}
	return terminal.Printable(at.Show(c.From)) + " => " + changePath(at, c)
}

// statNote is for what has no lines to count.
func statNote(c forkbox.Change) string {
	switch {
	case c.Binary:
		from, to := c.OldSize, c.Size
		if c.Kind == forkbox.Deleted {
			from, to = c.Size, 0
		}
		return fmt.Sprintf("Bin %d -> %d bytes", from, to)
	case c.Plus+c.Minus > 0:
		return ""
	case newMode(c):
		return fmt.Sprintf("%s to %s", forkbox.ModeText(c.OldMode), forkbox.ModeText(c.Mode))
	case c.Type != "file":
		return fmt.Sprintf("%s %s", c.Type, c.Kind)
	case c.Kind == forkbox.Mode:
		return "new " + strings.Join(c.Attrs, ", ")
	case c.Kind == forkbox.Linked:
		return "linked"
	}
	return ""
}
