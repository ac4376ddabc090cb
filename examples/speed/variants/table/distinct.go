// Package distinct counts different numbers.
package distinct

// Count says how many different numbers there are in a list. There are only
// 65536 that it can have.
func Count(list []uint16) (count int) {
	var seen [65536]bool
	for _, n := range list {
		if !seen[n] {
			seen[n] = true
			count++
		}
	}
	return count
}
