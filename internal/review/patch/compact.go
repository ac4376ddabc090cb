package patch

import "bytes"

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
