package rank

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// title is a command's name, or the command itself, on one short line: it may be
// a script of many lines.
func title(name string) string {
	const most = 60
	var b strings.Builder
	for _, r := range strings.TrimSpace(name) {
		if b.Len() >= most {
			return strings.TrimSpace(b.String()) + "…"
		}
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			b.WriteByte(' ')
		case r == utf8.RuneError || !unicode.IsPrint(r):
			b.WriteRune('·')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// listed is "a", "a and b", "a, b and c", "a, b, c and 4 more".
func listed(names []string) string {
	const most = 5
	if len(names) > most {
		names = append(slices.Clone(names[:most-1]), fmt.Sprintf("%d more", len(names)-most+1))
	}
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// figures are two values with their unit, with as many digits as it takes to
// tell them apart.
func figures(a, b float64, unit string) (string, string) {
	if unit != "s" && isWhole(a) && isWhole(b) {
		return figure(a, unit, 1), figure(b, unit, 1)
	}
	for digits := 3; digits < 17; digits++ {
		if x, y := figure(a, unit, digits), figure(b, unit, digits); x != y || a == b {
			return x, y
		}
	}
	return figure(a, unit, 17), figure(b, unit, 17)
}

func isWhole(v float64) bool { return v == math.Trunc(v) && math.Abs(v) < 1e15 }

// figure is a value as people write it: 1.10 s, 250 ms, 1200 req.
func figure(v float64, unit string, digits int) string {
	if unit == "s" && v != 0 {
		switch a := math.Abs(v); {
		case a < 0.9995e-3:
			v, unit = v*1e6, "µs"
		case a < 0.9995:
			v, unit = v*1e3, "ms"
		}
	}
	if unit == "" {
		return decimal(v, digits)
	}
	return decimal(v, digits) + " " + unit
}

// decimal has at least so many digits that mean something, and all whole ones.
func decimal(v float64, digits int) string {
	if a := math.Abs(v); v != 0 && (a < 1e-4 || a >= 1e15) {
		return strconv.FormatFloat(v, 'g', digits, 64)
	}
	_, power, _ := strings.Cut(strconv.FormatFloat(v, 'e', digits-1, 64), "e")
	exponent, _ := strconv.Atoi(power)
	return strconv.FormatFloat(v, 'f', max(0, digits-1-exponent), 64)
}

// percent is how far a is from b, in percent of b: "16 %".
func percent(a, b float64) string {
	p := 100 * math.Abs(a-b) / math.Abs(b)
	switch {
	case p >= 10:
		return strconv.FormatFloat(p, 'f', 0, 64) + " %"
	case p >= 0.1:
		return strconv.FormatFloat(p, 'f', 1, 64) + " %"
	}
	return decimal(p, 1) + " %"
}

func likelihood(p float64) string {
	if p < 0.001 {
		return "p < 0.001"
	}
	return "p = " + strconv.FormatFloat(p, 'f', 3, 64)
}

// clipped is somebody's words on one line, not longer than a sentence.
func clipped(text string) string {
	const most = 300
	text = strings.ToValidUTF8(text, "·")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
}
