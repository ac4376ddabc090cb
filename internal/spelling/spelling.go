// Package spelling finds the word that was meant.
package spelling

import "strings"

// Nearest is the known word that its author may have mistyped; empty where none
// is near.
func Nearest(word string, known []string) string {
	const long = 40
	if len(word) > long {
		return ""
	}
	best, near := "", max(1, len(word)/3)+1
	for _, k := range known {
		if d := Edits(strings.ToLower(word), strings.ToLower(k)); d < near && d < len(k) {
			best, near = k, d
		}
	}
	return best
}

// Edits is how many letters have to be changed, added, left out or exchanged
// with their neighbour.
func Edits(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			change := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			rows[i][j] = min(change, rows[i-1][j]+1, rows[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
