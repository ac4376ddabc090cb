package patch

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
