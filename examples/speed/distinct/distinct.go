// Package distinct counts different numbers.
package distinct

import "slices"

// Count says how many different numbers there are in a list.
func Count(list []uint16) int {
	var seen []uint16
	for _, n := range list {
		if !slices.Contains(seen, n) {
			seen = append(seen, n)
		}
	}
	return len(seen)
}
