package patch

import (
	"strconv"
	"strings"
)

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
