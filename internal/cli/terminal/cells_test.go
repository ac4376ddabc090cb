package terminal

import "testing"

func TestCellsAreCut(t *testing.T) {
	for _, row := range []struct {
		text string
		room int
		want string
	}{
		{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"abc", 0, ""}, {"abc", 1, "…"}, {"日本", 4, "日本"}, {"日本", 3, "日…"}, {"日本", 2, "…"}, {"✓✗~", 3, "✓✗~"},
	} {
		if got := CutCells(row.text, row.room); got != row.want || CellsOf(got) > row.room {
			t.Errorf("%q in %d is %q, not %q", row.text, row.room, got, row.want)
		}
	}
}
