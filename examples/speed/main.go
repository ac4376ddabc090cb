// Speed counts how many different numbers there are in a long list.
package main

import (
	"fmt"

	"speed/distinct"
)

func main() {
	fmt.Println(distinct.Count(numbers(3_000_000)))
}

// numbers are the same each time: a linear congruential generator makes them.
func numbers(n int) []uint16 {
	list := make([]uint16, n)
	state := uint32(1)
	for i := range list {
		state = state*1664525 + 1013904223
		list[i] = uint16(state >> 16)
	}
	return list
}
