package main

import (
	"fmt"
	"strconv"
	"strings"
)

func prefixed(word, who string) string {
	if who == "" {
		return ""
	}
	return word + who
}

func because(why string) string { return prefixed(": ", why) }

func orWord(word, other string) string {
	if word == "" {
		return other
	}
	return word
}

func roundBytes(n int64) string {
	value, unit := float64(n), 0
	for value >= 1023.95 && unit < len("kmgt") {
		value /= 1024
		unit++
	}
	text := strings.TrimSuffix(fmt.Sprintf("%.1f", value), ".0")
	return text + "kmgt"[max(0, unit-1):unit]
}

func printableList(list []string) string { return printable(strings.Join(list, ", ")) }

func joinPorts(ports []int) string {
	words := make([]string, len(ports))
	for i, port := range ports {
		words[i] = strconv.Itoa(port)
	}
	return strings.Join(words, ", ")
}
