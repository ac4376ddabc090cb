package patch

import "bytes"

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
