package retention

import (
	"strconv"
	"strings"
	"time"
)

// Policy is what gc does when it is not asked for anything else. An age is
// how long a box with that outcome stays after its last use; zero is for ever.
// The zero Policy removes nothing.
type Policy struct {
	Applied   time.Duration
	Discarded time.Duration
	Lost      time.Duration
	Failed    time.Duration
	Untouched time.Duration
	// Unreviewed boxes are somebody's work: this age speaks against them, and
	// still only a gc that is asked for them ([forkbox.GCSpec]) removes them.
	Unreviewed time.Duration
	// MaxSize, where not zero, has the least recently used boxes go, whatever
	// their age, until no more bytes than this are in use.
	MaxSize int64
}

const day = 24 * time.Hour

// Default is the policy of somebody who said nothing. A box that was applied
// or discarded, or whose race another one won, has done its work; a day is to look at its logs once more. One
// that failed is for somebody to find out why. One that nobody touched costs
// next to nothing and may have been made for Monday.
func Default() Policy {
	return Policy{Applied: day, Discarded: day, Lost: day, Failed: 7 * day, Untouched: 7 * day}
}

// age is where the policy has the age for an outcome: nil if there is no such.
func (p *Policy) age(o Outcome) *time.Duration {
	switch o {
	case Applied:
		return &p.Applied
	case Discarded:
		return &p.Discarded
	case Lost:
		return &p.Lost
	case Failed:
		return &p.Failed
	case Untouched:
		return &p.Untouched
	case Unreviewed:
		return &p.Unreviewed
	}
	return nil
}

func known(o Outcome) bool { return new(Policy).age(o) != nil }

// outcomes is the order in which people are told of them.
var outcomes = []Outcome{Applied, Discarded, Lost, Failed, Untouched, Unreviewed}

// String is the policy as [ParsePolicy] reads it, with nothing left to the
// default.
func (p Policy) String() string {
	var parts []string
	for _, o := range outcomes {
		parts = append(parts, string(o)+"="+formatAge(*p.age(o)))
	}
	if p.MaxSize > 0 {
		parts = append(parts, maxSize+"="+formatSize(p.MaxSize))
	}
	return strings.Join(parts, ",")
}

func formatAge(d time.Duration) string {
	if d <= 0 {
		return never
	}
	for _, u := range ageUnits {
		if d%u.length == 0 {
			return strconv.FormatInt(int64(d/u.length), 10) + u.letter
		}
	}
	return d.String() // a fraction of a second: nobody can have asked for it in text
}

func formatSize(n int64) string {
	for _, u := range sizeUnits {
		if n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.letter
		}
	}
	return strconv.FormatInt(n, 10)
}
