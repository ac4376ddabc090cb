package terminal

import (
	"fmt"
	"strconv"
	"strings"
)

func Prefixed(word, who string) string {
	if who == "" {
		return ""
	}
	return word + who
}

func Because(why string) string { return Prefixed(": ", why) }

func OrWord(word, other string) string {
	if word == "" {
		return other
	}
	return word
}

func RoundBytes(n int64) string {
	value, unit := float64(n), 0
	for value >= 1023.95 && unit < len("kmgt") {
		value /= 1024
		unit++
	}
	text := strings.TrimSuffix(fmt.Sprintf("%.1f", value), ".0")
	return text + "kmgt"[max(0, unit-1):unit]
}

func PrintableList(list []string) string { return Printable(strings.Join(list, ", ")) }

func JoinPorts(ports []int) string {
	words := make([]string, len(ports))
	for i, port := range ports {
		words[i] = strconv.Itoa(port)
	}
	return strings.Join(words, ", ")
}
