package patch

import "bytes"

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
