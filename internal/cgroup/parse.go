package cgroup

import (
	"strconv"
	"strings"

	"github.com/forkbox/forkbox"
)

// keyed finds a number in a file of lines "key value": memory.events, cpu.stat.
// It is 0 if there is none.
func keyed(text, key string) int64 {
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(line, " ")
		if name == key {
			v, _ := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
			return v
		}
	}
	return 0
}

// number reads a file of one number. The kernel says "max" in version 2, and a
// number that no machine reaches in version 1, for no limit.
func number(text string) (int64, bool) {
	text = strings.TrimSpace(text)
	if text == "max" {
		return forkbox.Unlimited, true
	}
	v, err := strconv.ParseUint(text, 10, 64)
	switch {
	case text == "-1", err == nil && v >= 1<<62:
		return forkbox.Unlimited, true
	case err != nil:
		return 0, false
	}
	return int64(v), true
}

// numbers reads a list of process ids.
func numbers(text string) (list []int) {
	for _, word := range strings.Fields(text) {
		if n, err := strconv.Atoi(word); err == nil && n > 0 {
			list = append(list, n)
		}
	}
	return list
}

// ioStat reads version 2's io.stat or io.max: by device, values by key. Those
// that are "max" are left out.
func ioStat(text string) map[string]map[string]int64 {
	devices := map[string]map[string]int64{}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 || !isDevice(fields[0]) {
			continue
		}
		values := map[string]int64{}
		for _, field := range fields[1:] {
			key, value, _ := strings.Cut(field, "=")
			if v, err := strconv.ParseInt(value, 10, 64); err == nil {
				values[key] = v
			}
		}
		devices[fields[0]] = values
	}
	return devices
}

// perDevice reads version 1's lines "8:0 Read 4096" or "8:0 4096" of one
// direction; word is "" for the latter.
func perDevice(text, word string) map[string]int64 {
	devices := map[string]int64{}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 3 && fields[1] == word && word != "" {
			fields = []string{fields[0], fields[2]}
		} else if len(fields) != 2 || word != "" {
			continue
		}
		if v, err := strconv.ParseInt(fields[1], 10, 64); err == nil && isDevice(fields[0]) {
			devices[fields[0]] = v
		}
	}
	return devices
}

// isDevice says whether a word is MAJOR:MINOR.
func isDevice(word string) bool {
	major, minor, ok := strings.Cut(word, ":")
	_, err1 := strconv.ParseUint(major, 10, 32)
	_, err2 := strconv.ParseUint(minor, 10, 32)
	return ok && err1 == nil && err2 == nil
}

// pressure reads lines like "some avg10=0.12 avg60=0.00 avg300=0.00 total=7".
// The line "full" is missing from cpu.pressure of older kernels.
func pressure(text string) (p forkbox.Pressure, ok bool) {
	to := map[string]*float64{
		"some avg10": &p.Some10, "some avg60": &p.Some60, "some avg300": &p.Some300,
		"full avg10": &p.Full10, "full avg60": &p.Full60, "full avg300": &p.Full300,
	}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		for i := 1; i < len(fields); i++ {
			key, value, _ := strings.Cut(fields[i], "=")
			field := to[fields[0]+" "+key]
			if v, err := strconv.ParseFloat(value, 64); err == nil && field != nil && v >= 0 && v <= 100 {
				*field, ok = v, true
			}
		}
	}
	return p, ok
}
