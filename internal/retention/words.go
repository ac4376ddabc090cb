package retention

import (
	"fmt"
	"strings"
	"time"
)

// span is how people say a duration: the two largest units of it. Two days are
// still told in hours, as that is how such ages are given.
func span(d time.Duration) string {
	units := []struct {
		name   string
		length time.Duration
	}{{"day", day}, {"hour", time.Hour}, {"minute", time.Minute}, {"second", time.Second}}
	if d < 2*day {
		units = units[1:]
	}
	for len(units) > 0 && d < units[0].length {
		units = units[1:]
	}
	if len(units) == 0 {
		return "less than a second"
	}
	var parts []string
	for _, u := range units[:min(2, len(units))] {
		if n := int64(d / u.length); n > 0 {
			parts = append(parts, count(n, u.name))
		}
		d %= u.length
	}
	return strings.Join(parts, " ")
}

func count(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// size is how people say bytes, in the units they give them in.
func size(n int64) string {
	for _, u := range sizeUnits {
		if n >= u.bytes {
			tenths := fmt.Sprintf("%.1f", float64(n)/float64(u.bytes))
			return strings.TrimSuffix(tenths, ".0") + " " + u.letter + "iB"
		}
	}
	return count(n, "byte")
}

// list is names as people read them. A snapshot can have hundreds of children.
func list(names []string) string {
	const most = 10
	last := names[len(names)-1]
	if len(names) > most {
		last = fmt.Sprintf("%d more", len(names)-most)
		names = names[:most+1]
	}
	if len(names) == 1 {
		return last
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + last
}
