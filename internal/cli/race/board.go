package race

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
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

// render is a row that fits: name, phase, how long, what it uses, its checks,
// and in what is left the last that it printed.
func (r raceRow) render(name int, room raceRoom, now time.Time) string {
	line := raceLine{room: room.cols}
	paint := func(c terminal.Colour, text string) string {
		if !room.colour || c == "" {
			return text
		}
		return c.Paint(text)
	}
	word, tint := r.phaseText()
	line.add(terminal.PadCells(terminal.Printable(r.Name), name), func(text string) string { return text })
	line.add(terminal.PadCells(word, len("measuring")), func(text string) string { return paint(tint, text) })
	line.add(fmt.Sprintf("%7s", r.elapsed(now)), nil)
	line.add(fmt.Sprintf("%6s", r.cpuText()), nil)
	line.add(fmt.Sprintf("%7s", r.memoryText()), nil)
	for _, mark := range checkMarks(r.Checks) {
		line.join(mark.text, func(text string) string { return paint(mark.colour, text) })
	}
	line.add(terminal.Printable(r.lastWord()), nil)
	return line.text.String()
}

// raceLine is made of pieces until there is no more room. Colours take none.
type raceLine struct {
	text strings.Builder
	room int
	used int
	open bool // the last piece was joined: the next one that is joined needs no space
}

func (l *raceLine) add(piece string, paint func(string) string) {
	l.open = false
	l.put("  ", piece, paint)
}

// join is add without a gap between pieces that are joined.
func (l *raceLine) join(piece string, paint func(string) string) {
	gap := "  "
	if l.open {
		gap = ""
	}
	l.open = true
	l.put(gap, piece, paint)
}

func (l *raceLine) put(gap, piece string, paint func(string) string) {
	if l.used == 0 {
		gap = ""
	}
	left := l.room - l.used - len(gap)
	if left <= 0 || piece == "" {
		return
	}
	piece = terminal.CutCells(piece, left)
	l.used += len(gap) + terminal.CellsOf(piece)
	if paint != nil {
		piece = paint(piece)
	}
	l.text.WriteString(gap + piece)
}

// phaseText is what it does, or what became of it.
func (r raceRow) phaseText() (string, terminal.Colour) {
	if r.Phase == forkbox.PhaseDone && r.Outcome != "" {
		return terminal.Printable(string(r.Outcome)), outcomeColour(r.Outcome)
	}
	if r.urgency() == 0 {
		return string(r.Phase), terminal.Cyan
	}
	return terminal.Printable(string(r.Phase)), ""
}

func outcomeColour(o forkbox.Outcome) terminal.Colour {
	switch o {
	case forkbox.OutcomePassed:
		return terminal.Green
	case forkbox.OutcomeFlaky, forkbox.OutcomeCancelled:
		return terminal.Yellow
	}
	return terminal.Red
}

func (r raceRow) elapsed(now time.Time) string {
	switch {
	case r.Started.IsZero():
		return "-"
	case r.Phase == forkbox.PhaseDone && !r.Ended.IsZero():
		return raceSpan(r.Ended.Sub(r.Started))
	}
	return raceSpan(now.Sub(r.Started))
}

// cpuText is what it uses now, and nothing once it is done.
func (r raceRow) cpuText() string {
	if r.Phase == forkbox.PhaseDone || r.Started.IsZero() {
		return "-"
	}
	return fmt.Sprintf("%.0f%%", r.cpu)
}

func (r raceRow) memoryText() string {
	switch {
	case r.Phase == forkbox.PhaseDone && r.MemoryPeak > 0:
		return terminal.RoundBytes(r.MemoryPeak)
	case r.Phase == forkbox.PhaseDone || r.memory <= 0:
		return "-"
	}
	return terminal.RoundBytes(r.memory)
}

// lastWord is why it ended, what was measured, or what it printed.
func (r raceRow) lastWord() string {
	if r.Phase == forkbox.PhaseDone {
		if r.Outcome != forkbox.OutcomePassed && r.Why != "" {
			return r.Why
		}
		return diffText(r.Diff)
	}
	if n := len(r.Metrics); r.Phase == forkbox.PhaseMeasuring && n > 0 && len(r.Metrics[n-1].Values) > 0 {
		m := r.Metrics[n-1]
		return fmt.Sprintf("%s: %s of %s", m.Name, raceMeasure(m), terminal.Plural(len(m.Values), "run"))
	}
	return r.line
}

type checkMark struct {
	text   string
	colour terminal.Colour
}

// mostMarks is how many checks have a mark each. Of more there are numbers.
const mostMarks = 12

func checkMarks(checks []forkbox.Checked) (marks []checkMark) {
	counts := map[checkMark]int{}
	for _, c := range checks {
		mark := markOf(c)
		counts[mark]++
		marks = append(marks, mark)
	}
	if len(marks) <= mostMarks {
		return marks
	}
	marks = nil
	for _, mark := range []checkMark{passedMark, failedMark, flakyMark, openMark} {
		if n := counts[mark]; n > 0 {
			marks = append(marks, checkMark{fmt.Sprintf("%d%s ", n, mark.text), mark.colour})
		}
	}
	return marks
}

var (
	passedMark = checkMark{"✓", terminal.Green}
	failedMark = checkMark{"✗", terminal.Red}
	flakyMark  = checkMark{"~", terminal.Yellow}
	openMark   = checkMark{"·", ""}
)

func markOf(c forkbox.Checked) checkMark {
	switch {
	case endedRuns(c) == 0:
		return openMark
	case c.Flaky:
		return flakyMark
	case c.Passed:
		return passedMark
	}
	return failedMark
}
