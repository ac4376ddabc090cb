package patch

import (
	"bytes"
	"slices"
)

// CertainEdits turns old into new like [Edits], but does not guess. Where lines
// are repeated there may be several ways to tell the same change, each as short
// as the other; what is then unchanged is a matter of taste, and two changes
// can seem to lie apart that do not. So the comparison is done from both ends,
// and only lines that are unchanged in both are told as unchanged. Edits are
// told as one also where a part of one could as well belong to the other.
func CertainEdits(old, new [][]byte) []Edit {
	var list []Edit
	for _, e := range unite(Edits(old, new), editsBy(compareFromEnd, old, new), len(old), len(new)) {
		for len(list) > 0 && bridged(list[len(list)-1], e, old, new) {
			e = join(list[len(list)-1], e)
			list = list[:len(list)-1]
		}
		list = append(list, e)
	}
	return list
}

// bridged says whether the deleted or the inserted lines of one edit can be
// told right next to the other edit as well.
func bridged(e, next Edit, old, new [][]byte) bool {
	gap := next.OldFrom - e.OldTo
	return movable(old, e.OldFrom, e.OldTo, e.OldTo+gap) || movable(new, e.NewFrom, e.NewTo, e.NewTo+gap) ||
		movableUp(old, next.OldFrom, next.OldTo, e.OldTo) || movableUp(new, next.NewFrom, next.NewTo, e.NewTo)
}

// movable says whether lines [from, to) can be told as [from+n, to+n), with the
// end at limit.
func movable(lines [][]byte, from, to, limit int) bool {
	some := from < to
	for ; some && to < limit; from, to = from+1, to+1 {
		some = bytes.Equal(lines[from], lines[to])
	}
	return some
}

// movableUp is the same with the start at limit.
func movableUp(lines [][]byte, from, to, limit int) bool {
	some := from < to
	for ; some && from > limit; from, to = from-1, to-1 {
		some = bytes.Equal(lines[from-1], lines[to-1])
	}
	return some
}

func compareFromEnd(a, b []int32) (deleted, inserted []bool) {
	slices.Reverse(a)
	slices.Reverse(b)
	deleted, inserted = compare(a, b)
	slices.Reverse(deleted)
	slices.Reverse(inserted)
	return deleted, inserted
}

// unite is the edits between the pairs of lines that both lists leave alone.
func unite(first, second []Edit, oldLines, newLines int) []Edit {
	if slices.Equal(first, second) {
		return first
	}
	deleted, inserted := filled(oldLines), filled(newLines)
	a, b := partners(first, oldLines), partners(second, oldLines)
	for i := range a {
		if a[i] == b[i] && a[i] >= 0 {
			deleted[i], inserted[a[i]] = false, false
		}
	}
	return collect(deleted, inserted)
}

func filled(n int) []bool {
	return slices.Repeat([]bool{true}, n)
}

// partners tells for each old line which new line it is; -1 where it is deleted.
func partners(edits []Edit, oldLines int) []int {
	list := make([]int, oldLines)
	at, moved := 0, 0
	for _, e := range append(slices.Clone(edits), Edit{OldFrom: oldLines, OldTo: oldLines}) {
		for ; at < e.OldFrom; at++ {
			list[at] = at + moved
		}
		for ; at < e.OldTo; at++ {
			list[at] = -1
		}
		moved = e.NewTo - e.OldTo
	}
	return list
}
