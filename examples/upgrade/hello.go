// Package hello greets visitors, with a library for that.
package hello

import "greet.example/greet"

// Visitors greets all of them.
func Visitors(names []string) (lines []string) {
	for _, name := range names {
		lines = append(lines, greet.Hello(name))
	}
	return lines
}
