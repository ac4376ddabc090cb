package terminal

import "strings"

// CellsOf is how many columns of a terminal a text takes at most. What a
// terminal takes for less leaves a gap, which does no harm.
func CellsOf(text string) (n int) {
	for _, r := range text {
		n += cells(r)
	}
	return n
}

// cells is two for what East Asian scripts and pictures take.
func cells(r rune) int {
	wide := r >= 0x1100 && (r <= 0x115f || r >= 0x2e80 && r <= 0xa4cf || r >= 0xa960 && r <= 0xa97f || r >= 0xac00 && r <= 0xd7a3 ||
		r >= 0xf900 && r <= 0xfaff || r >= 0xfe10 && r <= 0xfe6f || r >= 0xff00 && r <= 0xff60 || r >= 0xffe0 && r <= 0xffe6 || r >= 0x1f000)
	if wide || r >= 0x2600 && r <= 0x27bf && !plainMark(r) || r >= 0x2b00 && r <= 0x2bff {
		return 2
	}
	return 1
}

// plainMark are marks of ours that look like pictures and are none.
func plainMark(r rune) bool { return r == '✓' || r == '✗' }

// CutCells is as much of a text as fits, with a sign where something is missing.
func CutCells(text string, room int) string {
	if CellsOf(text) <= room {
		return text
	}
	used := 0
	for i, r := range text {
		if used+cells(r) > room-1 {
			return text[:i] + strings.Repeat("…", min(room, 1))
		}
		used += cells(r)
	}
	return text
}

// PadCells is a text of exactly so many columns, or one less.
func PadCells(text string, width int) string {
	text = CutCells(text, width)
	return text + strings.Repeat(" ", max(width-CellsOf(text), 0))
}
