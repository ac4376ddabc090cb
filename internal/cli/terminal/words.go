package terminal

import (
	"fmt"
	"strconv"
	"strings"
)

// Prefixed is a word and who or what follows it, or nothing where nothing does.
func Prefixed(word, who string) string {
	if who == "" {
		return ""
	}
	return word + who
}

// Because adds a reason, where there is one.
func Because(why string) string { return Prefixed(": ", why) }

// OrWord is other where there is no word.
func OrWord(word, other string) string {
	if word == "" {
		return other
	}
	return word
}

// RoundBytes is a measured number of bytes in the units of limits, rounded.
func RoundBytes(n int64) string {
	value, unit := float64(n), 0
	for value >= 1023.95 && unit < len("kmgt") {
		value /= 1024
		unit++
	}
	text := strings.TrimSuffix(fmt.Sprintf("%.1f", value), ".0")
	return text + "kmgt"[max(0, unit-1):unit]
}

// PrintableList is names in one line.
func PrintableList(list []string) string { return Printable(strings.Join(list, ", ")) }

// JoinPorts is ports in one line.
func JoinPorts(ports []int) string {
	words := make([]string, len(ports))
	for i, port := range ports {
		words[i] = strconv.Itoa(port)
	}
	return strings.Join(words, ", ")
}
