// Package distinct counts different numbers.
package distinct

// Count says how many different numbers there are in a list.
func Count(list []uint16) int {
	seen := make(map[uint16]bool)
	for _, n := range list {
		seen[n] = true
	}
	return len(seen)
}
