package patch

import (
	"bytes"
	"slices"

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
