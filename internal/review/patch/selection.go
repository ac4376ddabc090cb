package patch

import (
	"slices"
	"strconv"
	"strings"

	"github.com/forkbox/forkbox"
)

// mostNumbers bounds what a range such as 1-999999999 can ask for.
const mostNumbers = 1 << 20

// ParseSelection reads "FILE:1,3-5": a file and numbers of its hunks. The last
// colon separates, so FILE may hold colons and commas. The numbers come back
// sorted, each once.
func ParseSelection(arg string) (file string, numbers []int, err error) {
	colon := strings.LastIndexByte(arg, ':')
	if colon < 0 {
		return "", nil, badSelection(arg, "it has no colon")
	}
	if colon == 0 {
		return "", nil, badSelection(arg, "it names no file")
	}
	for part := range strings.SplitSeq(arg[colon+1:], ",") {
		first, last, why := parseRange(part)
		if why == "" && last-first >= mostNumbers-len(numbers) {
			why = "it names too many hunks"
		}
		if why != "" {
			return "", nil, badSelection(arg, why)
		}
		for n := first; n <= last; n++ {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return arg[:colon], slices.Compact(numbers), nil
}

func badSelection(arg, why string) error {
	return forkbox.Errorf(forkbox.Invalid, selecting, "%q: %s", arg, why).
		Hint("write FILE:1,3-5 with the numbers of the hunks, which count from 1")
}

func parseRange(text string) (first, last int, why string) {
	from, to, isRange := strings.Cut(text, "-")
	if first, why = parseNumber(from); why != "" || !isRange {
		return first, first, why
	}
	if last, why = parseNumber(to); why == "" && last < first {
		why = strconv.Quote(text) + " runs backwards"
	}
	return first, last, why
}

func parseNumber(text string) (n int, why string) {
	if strings.Trim(text, "0123456789") != "" || text == "" {
		return 0, strconv.Quote(text) + " is not a number"
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, text + " is too large"
	}
	if n == 0 {
		return 0, "hunks are numbered from 1"
	}
	return n, ""
}
