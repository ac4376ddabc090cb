package retention

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
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

var ageUnits = []struct {
	letter string
	length time.Duration
}{{"w", 7 * day}, {"d", day}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}}

// ParseAge reads "24h", "7d", "2w", "1d12h": weeks, days, hours, minutes and
// seconds, in this order. Zero is refused: where an age can be left out, zero
// means that it was.
func ParseAge(text string) (time.Duration, error) {
	var sum int64
	for i, digits := range splitAge(text) {
		if digits == "" {
			continue
		}
		n, ok := times(digits, int64(ageUnits[i].length))
		if !ok || n > math.MaxInt64-sum {
			return 0, notAn("age", text, "is too long an age").Hint("the longest is some 290 years")
		}
		sum += n
	}
	if sum == 0 {
		return 0, notAn("age", text, "is not an age above zero").Hint("for example 12h, 7d, 2w or 1d12h; m is minutes")
	}
	return time.Duration(sum), nil
}

// splitAge is the digits before each of ageUnits, or nothing if there is
// something else in the text. Patterns would be compiled at every start of the
// program.
func splitAge(text string) []string {
	numbers := make([]string, len(ageUnits))
	for i, u := range ageUnits {
		digits, rest := cutDigits(text)
		if rest, ok := strings.CutPrefix(rest, u.letter); ok && digits != "" {
			numbers[i], text = digits, rest
		}
	}
	if text != "" {
		return nil
	}
	return numbers
}

func cutDigits(text string) (digits, rest string) {
	rest = strings.TrimLeft(text, "0123456789")
	return text[:len(text)-len(rest)], rest
}

var sizeUnits = []struct {
	letter string
	bytes  int64
}{{"T", 1 << 40}, {"G", 1 << 30}, {"M", 1 << 20}, {"K", 1 << 10}}

// ParseSize reads "50G", "500M", "1048576": bytes, or with K, M, G or T 1024
// of what is before it. Zero is refused as in [ParseAge].
func ParseSize(text string) (int64, error) {
	digits, letter := cutDigits(text)
	unit, known := int64(1), letter == ""
	for _, u := range sizeUnits {
		if u.letter == letter {
			unit, known = u.bytes, true
		}
	}
	if digits == "" || !known {
		return 0, notASize(text)
	}
	n, ok := times(digits, unit)
	switch {
	case !ok:
		return 0, notAn("size", text, "is too large a size")
	case n == 0:
		return 0, notASize(text)
	}
	return n, nil
}

func notASize(text string) *forkbox.Error {
	return notAn("size", text, "is not a size above zero").Hint("for example 50G, 500M or 1048576; the units are K, M, G and T")
}

func notAn(what, text, why string) *forkbox.Error {
	return forkbox.Errorf(forkbox.Invalid, "read the "+what, "%q %s", text, why)
}

// times is digits times unit, where that is a number we can hold.
func times(digits string, unit int64) (int64, bool) {
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n > math.MaxInt64/unit {
		return 0, false
	}
	return n * unit, true
}
