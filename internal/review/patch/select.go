package patch

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/forkbox/forkbox"
)

const selecting = "select hunks"

// Select is old with only the numbered hunks applied, or with fine the numbered
// [Runs]. Numbers count from 1, in any order; a repeated one counts once. The
// hunks must be of old: lines that do not match are an error, and so is a
// number that names nothing. What is not selected stays as it is in old, so
// comparing the result with the new version tells exactly the rest.
func Select(old []byte, hunks []Hunk, numbers []int, fine bool) ([]byte, error) {
	units, noun := hunks, "hunk"
	if fine {
		units, noun = Runs(hunks), "run of changed lines"
	}
	numbers = slices.Compact(slices.Sorted(slices.Values(numbers)))
	for _, n := range numbers {
		if n < 1 || n > len(units) {
			return nil, outOfRange(n, len(units), noun)
		}
	}
	s := selection{old: Split(old)}
	for _, n := range numbers {
		if err := s.apply(units[n-1]); err != nil {
			return nil, err
		}
	}
	s.copy(len(s.old))
	return s.out.Bytes(), nil
}

func outOfRange(n, count int, noun string) error {
	e := forkbox.Errorf(forkbox.Invalid, selecting, "there is no %s %d", noun, n)
	switch count {
	case 0:
		return e.Hint("the file has none: its content is not changed")
	case 1:
		return e.Hint("the file has only number 1")
	}
	return e.Hint("the file has numbers 1 to %d", count)
}

// selection writes old from the top, with changes in it.
type selection struct {
	old [][]byte
	at  int // old lines that are written, or deleted
	out bytes.Buffer
}

// copy writes the old lines up to a line.
func (s *selection) copy(to int) {
	for ; s.at < to; s.at++ {
		s.out.Write(s.old[s.at])
	}
}

// apply does the changes of one unit. Units may share unchanged lines, so
// nothing is written before the first change, nor after the last.
func (s *selection) apply(h Hunk) error {
	i := h.oldFrom()
	for _, line := range h.Lines {
		if line.Op == '+' {
			if i < s.at || i > len(s.old) {
				return mismatch(h, i)
			}
			s.copy(i)
			s.out.Write(line.Text)
			continue
		}
		if i < 0 || i >= len(s.old) || !bytes.Equal(s.old[i], line.Text) {
			return mismatch(h, i)
		}
		if line.Op == '-' {
			if i < s.at {
				return mismatch(h, i)
			}
			s.copy(i)
			s.at++
		}
		i++
	}
	return nil
}

func mismatch(h Hunk, i int) error {
	return forkbox.Errorf(forkbox.Conflict, selecting,
		"%s is not a hunk of this file: line %d differs", lineRange(h.OldStart, h.OldLines), i+1).
		Hint("the file has changed since: look at its changes again")
}

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
