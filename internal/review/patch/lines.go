package patch

import (
	"bytes"
)

// Edit says that lines [OldFrom, OldTo) of the old version became lines
// [NewFrom, NewTo) of the new one, counted from 0. One of the two ranges may
// be empty, and then tells where lines were inserted or deleted.
type Edit struct{ OldFrom, OldTo, NewFrom, NewTo int }

// Split cuts text into lines, each with its newline. Only the last can lack one,
// so an unterminated line never equals a terminated one.
func Split(text []byte) [][]byte {
	lines := make([][]byte, 0, bytes.Count(text, []byte{'\n'})+1)
	for len(text) > 0 {
		n := bytes.IndexByte(text, '\n') + 1
		if n == 0 {
			n = len(text)
		}
		lines, text = append(lines, text[:n:n]), text[n:]
	}
	return lines
}

// Edits turns old into new. The edits are in order and at least one unchanged
// line lies between any two. They are the fewest possible changed lines, but
// for inputs so large and so different that finding them would take minutes:
// there they are merely right. Where the same lines could be told in several
// places (a repeated blank line), the last is told.
func Edits(old, new [][]byte) []Edit {
	return editsBy(compare, old, new)
}

// editsBy compares what lies between the lines that both begin and end with.
func editsBy(compare func(a, b []int32) (deleted, inserted []bool), old, new [][]byte) []Edit {
	start := commonPrefix(old, new)
	end := commonSuffix(old[start:], new[start:])
	list := collect(compare(number(old[start:len(old)-end], new[start:len(new)-end])))
	for i := range list {
		list[i].shift(start)
	}
	return compact(list, old, new)
}

func (e *Edit) shift(n int) {
	e.OldFrom, e.OldTo, e.NewFrom, e.NewTo = e.OldFrom+n, e.OldTo+n, e.NewFrom+n, e.NewTo+n
}

func commonPrefix(a, b [][]byte) int {
	n := 0
	for n < len(a) && n < len(b) && bytes.Equal(a[n], b[n]) {
		n++
	}
	return n
}

func commonSuffix(a, b [][]byte) int {
	n := 0
	for n < len(a) && n < len(b) && bytes.Equal(a[len(a)-1-n], b[len(b)-1-n]) {
		n++
	}
	return n
}

// number gives equal lines equal numbers, so that the comparison touches each
// line's bytes once.
func number(old, new [][]byte) (a, b []int32) {
	numbers := make(map[string]int32)
	assign := func(lines [][]byte) []int32 {
		list := make([]int32, len(lines))
		for i, line := range lines {
			n, known := numbers[string(line)]
			if !known {
				n = int32(len(numbers))
				numbers[string(line)] = n
			}
			list[i] = n
		}
		return list
	}
	return assign(old), assign(new)
}

// collect makes edits of the marks that compare leaves.
func collect(deleted, inserted []bool) []Edit {
	var list []Edit
	for i, j := 0, 0; i < len(deleted) || j < len(inserted); {
		e := Edit{i, i, j, j}
		for e.OldTo < len(deleted) && deleted[e.OldTo] {
			e.OldTo++
		}
		for e.NewTo < len(inserted) && inserted[e.NewTo] {
			e.NewTo++
		}
		if e.OldTo > i || e.NewTo > j {
			list = append(list, e)
		}
		i, j = e.OldTo+1, e.NewTo+1 // past the equal line that ended the run
	}
	return list
}

// A run of inserted or of deleted lines can often be told in several places:
// when a block is repeated, either copy may be called the new one. compact
// moves every such run next to another edit where it can, so that there are as
// few edits as possible, and otherwise as far down as it goes.
func compact(list []Edit, old, new [][]byte) []Edit {
	var done []Edit
	for i := 0; i < len(list); i++ {
		e := list[i]
		lowest, highest := roomAround(done, list[i+1:], len(old))
		up := slide(e, old, new, -1, lowest)
		down := slide(e, old, new, +1, highest)
		switch {
		case i+1 < len(list) && down.OldTo == list[i+1].OldFrom:
			list[i+1] = join(down, list[i+1])
		case len(done) > 0 && up.OldFrom == done[len(done)-1].OldTo:
			list[i] = join(done[len(done)-1], up)
			done, i = done[:len(done)-1], i-1
		default:
			done = append(done, down)
		}
	}
	return done
}

// roomAround is the range of old lines between the edits before and after.
func roomAround(before, after []Edit, end int) (lowest, highest int) {
	if len(before) > 0 {
		lowest = before[len(before)-1].OldTo
	}
	if len(after) > 0 {
		return lowest, after[0].OldFrom
	}
	return lowest, end
}

func join(first, second Edit) Edit {
	return Edit{first.OldFrom, second.OldTo, first.NewFrom, second.NewTo}
}

// slide moves e up (-1) or down (+1) as far as that tells the same change. An
// edit that both deletes and inserts stays where it is.
func slide(e Edit, old, new [][]byte, by, limit int) Edit {
	lines, from, to := old, &e.OldFrom, &e.OldTo
	switch {
	case e.OldFrom == e.OldTo:
		lines, from, to = new, &e.NewFrom, &e.NewTo
	case e.NewFrom != e.NewTo:
		return e
	}
	for {
		if by < 0 && (e.OldFrom <= limit || !bytes.Equal(lines[*from-1], lines[*to-1])) {
			return e
		}
		if by > 0 && (e.OldTo >= limit || !bytes.Equal(lines[*from], lines[*to])) {
			return e
		}
		e.shift(by)
	}
}

// place moves runs that could be told in several places to where a reader
// expects them: a new function from its first line to the blank line after it,
// rather than from the closing brace of the one before.
func place(list []Edit, old, new [][]byte) []Edit {
	for i := range list {
		lowest, highest := roomAround(list[:i], list[i+1:], len(old))
		// One line stays between edits, or they would be one.
		if i > 0 {
			lowest++
		}
		if i+1 < len(list) {
			highest--
		}
		list[i] = best(slide(list[i], old, new, -1, lowest), slide(list[i], old, new, +1, highest), old, new)
	}
	return list
}

// best is the place from up to down that reads best; of equals, the last.
func best(up, down Edit, old, new [][]byte) Edit {
	if up == down {
		return down
	}
	lines, at := new, func(e Edit) int { return e.NewFrom }
	if down.NewFrom == down.NewTo {
		lines, at = old, func(e Edit) int { return e.OldFrom }
	}
	found, least := down, awkward(lines, at(down))
	for e := down; e != up; {
		e.shift(-1)
		if cost := awkward(lines, at(e)); cost < least {
			found, least = e, cost
		}
	}
	return found
}

// awkward says how odd it looks when a run begins at line i. Deep lines are
// worse than shallow ones; at the same depth a line that closes a block is
// worst, and one after a blank line best.
func awkward(lines [][]byte, i int) int {
	first, blank := indent(lines[i])
	if blank {
		first, _ = indent(lineAfter(lines, i))
	}
	cost := 4 * first
	if blank {
		cost++
	}
	if i == 0 {
		return cost
	}
	before, afterBlank := indent(lines[i-1])
	if !afterBlank {
		cost++
	}
	if !afterBlank && !blank && before > first {
		cost += 2
	}
	return cost
}

// lineAfter is the next line that is not blank, if there is one near.
func lineAfter(lines [][]byte, i int) []byte {
	const near = 20
	for j := i; j < len(lines) && j < i+near; j++ {
		if _, blank := indent(lines[j]); !blank {
			return lines[j]
		}
	}
	return nil
}

// indent is the width of a line's leading white space, tabs to every eighth
// column; beyond some width all are equally deep.
func indent(line []byte) (width int, blank bool) {
	const deepest = 200
	for _, c := range line {
		switch {
		case c == '\t':
			width += 8 - width%8
		case c == ' ':
			width++
		default:
			return min(width, deepest), len(bytes.TrimSpace(line)) == 0
		}
		if width >= deepest {
			return deepest, false
		}
	}
	return width, true
}
