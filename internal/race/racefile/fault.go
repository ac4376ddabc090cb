package racefile

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/forkbox/forkbox"
)

const mostFaults = 50

// fault is something wrong. place is which part of the race it is about, as
// [forkbox.RaceSpec.Check] names it.
type fault struct {
	line  int // 0: none
	place string
	why   string
}

// fault adds one. What is said of a part begins with the last word of its name.
func (p *page) fault(line int, place, format string, args ...any) *page {
	why := fmt.Sprintf(format, args...)
	if key := place[strings.LastIndexByte(place, '.')+1:]; key != "" {
		why = key + ": " + why
	}
	if f := (fault{line, place, why}); len(p.faults) < mostFaults && !slices.Contains(p.faults, f) {
		p.faults = append(p.faults, f)
	}
	return p
}

func (p *page) hint(format string, args ...any) {
	if h := fmt.Sprintf(format, args...); !slices.Contains(p.hints, h) && len(p.hints) < mostFaults {
		p.hints = append(p.hints, h)
	}
}

// take adds what another package refused, in its words.
func (p *page) take(line int, place string, err error) {
	var e *forkbox.Error
	if !errors.As(err, &e) {
		return
	}
	p.fault(line, place, "%s", e.Why)
	for _, h := range e.Hints {
		p.hint("%s", h)
	}
}

// takeCheck adds what [forkbox.RaceSpec.Check] found, each at its line. A part
// that could not be read is not complained about twice.
func (p *page) takeCheck(err error, origin []int) {
	var e *forkbox.Error
	if !errors.As(err, &e) {
		return
	}
	var news []forkbox.Caution
	for _, item := range e.Items {
		if item.Path = inFile(item.Path, origin); !p.unread(item.Path) {
			news = append(news, item)
		}
	}
	for _, item := range news {
		p.fault(p.line(item.Path), item.Path, "%s", item.Why)
	}
	for _, h := range e.Hints {
		if len(news) > 0 {
			p.hint("%s", h)
		}
	}
}

// unread says whether something was wrong already with a place, with what it is
// in or with what is in it.
func (p *page) unread(place string) bool {
	return slices.ContainsFunc(p.faults, func(f fault) bool { return covers(f.place, place) || covers(place, f.place) })
}

// covers says whether inner is outer or a part of it.
func covers(outer, inner string) bool {
	rest, ok := strings.CutPrefix(inner, outer)
	return ok && outer != "" && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// inFile is a place as the file counts: an approach of which there are n samples
// is written once.
func inFile(place string, origin []int) string {
	var i int
	if n, _ := fmt.Sscanf(place, "approaches[%d]", &i); n == 0 || i >= len(origin) {
		return place
	}
	_, rest, _ := strings.Cut(place, "]")
	return fmt.Sprintf("approaches[%d]%s", origin[i], rest)
}

// line is where a place is written, or else what it is in.
func (p *page) line(place string) int {
	for place != "" {
		if line, ok := p.lines[place]; ok {
			return line
		}
		place = place[:max(0, strings.LastIndexAny(place, ".["))]
	}
	return 0
}

// err is all that is wrong, by line.
func (p *page) err() error {
	if len(p.faults) == 0 {
		return nil
	}
	slices.SortStableFunc(p.faults, func(a, b fault) int { return cmp.Compare(uint(a.line)-1, uint(b.line)-1) }) // those without a line last
	e := forkbox.Errorf(forkbox.Invalid, "run the race", "%s: %s", p.spot(p.faults[0]), p.faults[0].why)
	if more := len(p.faults) - 1; more > 0 {
		e.Why += fmt.Sprintf(" (and %d more)", more)
		for _, f := range p.faults {
			e.About(p.spot(f), f.why)
		}
	}
	e.Hints = p.hints
	return e
}

func (p *page) spot(f fault) string {
	if f.line == 0 {
		return p.file
	}
	return fmt.Sprintf("%s:%d", p.file, f.line)
}
