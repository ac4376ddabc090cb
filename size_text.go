package forkbox

import (
	"fmt"
	"strconv"
)

// FormatSize is how people read bytes.
func FormatSize(n int64) string {
	if n < 1000 {
		return strconv.FormatInt(n, 10) + " B"
	}
	value, unit := float64(n)/1000, 0
	for value >= 999.5 && unit < len("kMGTPE")-1 {
		value /= 1000
		unit++
	}
	format := "%.1f %cB"
	if value >= 9.95 {
		format = "%.0f %cB"
	}
	return fmt.Sprintf(format, value, "kMGTPE"[unit])
}
