package patch

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Context is how many unchanged lines a hunk has before and after its changes.
const Context = 3

// Line is one line of a hunk.
type Line struct {
	Op   byte   // ' ', '+' or '-'
	Text []byte // with its newline, if it has one
}

// Hunk is a part of a file with changes that lie near each other. Lines are
// counted from 1; a side with no lines has the number of the line before.
type Hunk struct {
	OldStart, OldLines int
	NewStart, NewLines int
	Section            string // the heading above, such as the function it is in
	Lines              []Line
}

// Hunks compares old with new, with [Context] lines around each change, grouped
// as `git diff` does: changes with at most twice as many unchanged lines
// between them share a hunk. Equal inputs have none. Lines share memory with
// old and new.
func Hunks(old, new []byte) []Hunk {
	a, b := Split(old), Split(new)
	var list []Hunk
	heading := headings{lines: a}
	for _, edits := range group(place(Edits(a, b), a, b)) {
		h, from := build(edits, a, b)
		h.Section = heading.above(from)
		list = append(list, h)
	}
	return list
}

// group gathers the edits that one hunk holds.
func group(edits []Edit) [][]Edit {
	var groups [][]Edit
	start := 0
	for i := range edits {
		if i+1 == len(edits) || edits[i+1].OldFrom-edits[i].OldTo > 2*Context {
			groups = append(groups, edits[start:i+1])
			start = i + 1
		}
	}
	return groups
}

// build also tells the first old line, counted from 0.
func build(edits []Edit, old, new [][]byte) (h Hunk, from int) {
	last := edits[len(edits)-1]
	from = max(0, edits[0].OldFrom-Context)
	to := min(len(old), last.OldTo+Context)
	newFrom := edits[0].NewFrom - (edits[0].OldFrom - from)
	newTo := last.NewTo + to - last.OldTo
	h.Lines = make([]Line, 0, to-from+newTo-newFrom) // enough, also for large hunks
	at := from
	for _, e := range edits {
		h.add(' ', old[at:e.OldFrom])
		h.add('-', old[e.OldFrom:e.OldTo])
		h.add('+', new[e.NewFrom:e.NewTo])
		at = e.OldTo
	}
	h.add(' ', old[at:to])
	h.number(from, newFrom)
	return h, from
}

func (h *Hunk) add(op byte, lines [][]byte) {
	for _, text := range lines {
		h.Lines = append(h.Lines, Line{op, text})
	}
}

// number counts the lines and sets where they start, given from 0.
func (h *Hunk) number(oldFrom, newFrom int) {
	minus, plus := h.changed()
	h.OldLines, h.NewLines = len(h.Lines)-plus, len(h.Lines)-minus
	h.OldStart, h.NewStart = oldFrom, newFrom
	if h.OldLines > 0 {
		h.OldStart++
	}
	if h.NewLines > 0 {
		h.NewStart++
	}
}

// oldFrom is the hunk's first old line, counted from 0.
func (h *Hunk) oldFrom() int { return h.OldStart - min(1, h.OldLines) }

func (h *Hunk) newFrom() int { return h.NewStart - min(1, h.NewLines) }

func (h *Hunk) changed() (minus, plus int) {
	for _, line := range h.Lines {
		switch line.Op {
		case '-':
			minus++
		case '+':
			plus++
		}
	}
	return minus, plus
}

// Header is the line that a hunk begins with, without its newline.
func (h Hunk) Header() string {
	header := "@@ -" + lineRange(h.OldStart, h.OldLines) + " +" + lineRange(h.NewStart, h.NewLines) + " @@"
	if h.Section != "" {
		header += " " + h.Section
	}
	return header
}

func lineRange(start, count int) string {
	if count == 1 {
		return fmt.Sprint(start)
	}
	return fmt.Sprintf("%d,%d", start, count)
}

const noNewline = "\\ No newline at end of file\n"

// Write writes the hunk as it is in a patch.
func (h Hunk) Write(w io.Writer) error {
	var b bytes.Buffer
	b.WriteString(h.Header() + "\n")
	for _, line := range h.Lines {
		b.WriteByte(line.Op)
		b.Write(line.Text)
		if !bytes.HasSuffix(line.Text, []byte("\n")) {
			b.WriteString("\n" + noNewline)
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// HunkLines is how many lines a hunk has of the old and of the new file, by its
// header: "@@ -1,7 +1,6 @@ section". It is for who shows patches as they are;
// what is no header has none.
func HunkLines(header string) (old, new int) {
	fields := strings.Fields(header)
	if len(fields) < 3 {
		return 0, 0
	}
	return rangeLines(fields[1]), rangeLines(fields[2])
}

// rangeLines reads "-1,7": 7. Without a comma it is one line.
func rangeLines(field string) int {
	_, count, found := strings.Cut(field, ",")
	if !found {
		return 1
	}
	n, _ := strconv.Atoi(count)
	return n
}

// headings finds the line that a hunk's header repeats so that a reader knows
// where in the file he is.
type headings struct {
	lines    [][]byte
	searched int // lines that were looked at for the hunks before
	found    string
}

// above is the heading of a hunk whose first line is from: the nearest line
// above that begins with a letter, '_' or '$', as git has it for files of no
// known language.
func (h *headings) above(from int) string {
	for i := from - 1; i >= h.searched; i-- {
		if line := h.lines[i]; startsName(line[0]) {
			h.found = heading(line)
			break
		}
	}
	h.searched = max(h.searched, from)
	return h.found
}

func heading(line []byte) string {
	const widest = 80 // bytes, as in git
	return string(bytes.TrimRight(line[:min(len(line), widest)], " \t\n\v\f\r"))
}

func startsName(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c == '$'
}

// Runs cuts hunks into their runs of changed lines, for a finer choice: a run
// is changed lines with no unchanged line between them. Runs are numbered from
// 1 across the file, in order, whatever hunk they come from; the n-th of the
// result has number n. Each has the unchanged lines around it that its hunk
// shows, up to the next run, so neighbours repeat those between them.
func Runs(hunks []Hunk) []Hunk {
	var list []Hunk
	for i := range hunks {
		list = append(list, hunks[i].runs()...)
	}
	return list
}

func (h *Hunk) runs() []Hunk {
	var list []Hunk
	oldAt, newAt := h.oldFrom(), h.newFrom()
	for from := 0; ; {
		start := skip(h.Lines, from, true)
		if start == len(h.Lines) {
			return list
		}
		end := skip(h.Lines, start, false)
		next := skip(h.Lines, end, true)
		run := Hunk{Section: h.Section, Lines: h.Lines[from:next:next]}
		run.number(oldAt, newAt)
		list = append(list, run)
		minus, plus := run.changed()
		oldAt += end - from - plus
		newAt += end - from - minus
		from = end
	}
}

// skip is the first line at or after i that is changed, or that is not.
func skip(lines []Line, i int, unchanged bool) int {
	for i < len(lines) && (lines[i].Op == ' ') == unchanged {
		i++
	}
	return i
}
