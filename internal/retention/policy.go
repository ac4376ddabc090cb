package retention

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
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
	// Unreviewed boxes are their owner's work: this age speaks against them,
	// and still only a gc that is asked for them ([forkbox.GCSpec]) removes
	// them.
	Unreviewed time.Duration
	// MaxSize, where not zero, has the least recently used boxes go, whatever
	// their age, until no more bytes than this are in use.
	MaxSize int64
}

const day = 24 * time.Hour

// Default is the policy where none was given. A box that was applied or
// discarded, or whose race another one won, has done its work; a day is to look
// at its logs once more. One that failed is kept for its owner to find out why.
// An untouched one costs next to nothing and may have been made for Monday.
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

// String is the policy as [Policy.With] reads it, with nothing left to the
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
	return d.String() // a fraction of a second: it cannot have been asked for in text
}

func formatSize(n int64) string {
	for _, u := range sizeUnits {
		if n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.letter
		}
	}
	return strconv.FormatInt(n, 10)
}

const (
	never   = "never"
	maxSize = "max-size"
	reading = "read the retention policy"
)

// With reads "applied=24h,failed=7d,max-size=50G". What is not named is as in p,
// so no text at all changes nothing. Anything it does not
// understand is an error, and the policy is then the zero one, which removes
// nothing: a slip of the pen must not cost a box.
func (p Policy) With(text string) (Policy, error) {
	if text == "" {
		return p, nil
	}
	seen := map[string]bool{}
	for _, item := range strings.Split(text, ",") {
		key, value, ok := strings.Cut(item, "=")
		switch {
		case !ok:
			return Policy{}, malformed("%q is not KEY=VALUE", item)
		case seen[key]:
			return Policy{}, malformed("%q is there twice", key)
		}
		seen[key] = true
		if err := p.Set(key, value); err != nil {
			return Policy{}, err
		}
	}
	return p, nil
}

// Keys are what a policy has a value for.
func Keys() (keys []string) {
	for _, o := range outcomes {
		keys = append(keys, string(o))
	}
	return append(keys, maxSize)
}

// Get is the value of a key as [Policy.Set] takes it, "" where there is none.
func (p Policy) Get(key string) string {
	if age := p.age(Outcome(key)); age != nil {
		return formatAge(*age)
	}
	if p.MaxSize > 0 {
		return formatSize(p.MaxSize)
	}
	return ""
}

// Set takes one KEY=VALUE into the policy.
func (p *Policy) Set(key, value string) (err error) {
	if key == maxSize {
		p.MaxSize, err = ParseSize(value)
		return inPolicy(key, err)
	}
	age := p.age(Outcome(key))
	switch {
	case age == nil:
		return malformed("%q is not something it knows", key)
	case value == never:
		*age = 0
		return nil
	}
	*age, err = ParseAge(value)
	return inPolicy(key, err)
}

func malformed(format string, args ...any) *forkbox.Error {
	return forkbox.Errorf(forkbox.Invalid, reading, format, args...).
		Hint("it is a list without spaces, for example applied=24h,failed=7d,%s=50G", maxSize).
		Hint("the keys are applied, discarded, lost, failed, untouched, unreviewed and %s", maxSize)
}

// inPolicy says which key a bad value is of.
func inPolicy(key string, err error) error {
	var bad *forkbox.Error
	if !errors.As(err, &bad) {
		return err
	}
	e := forkbox.Errorf(bad.Code, reading, "%s: %s", key, bad.Why)
	e.Hints = bad.Hints
	if key != maxSize {
		e.Hint("%s=%s keeps them for ever", key, never)
	}
	return e
}

// Check refuses a request that no gc can mean. A negative age would be a date
// in the future, and remove everything.
func Check(spec forkbox.GCSpec) error {
	const op = "clear up"
	switch {
	case spec.OlderThan < 0:
		return forkbox.Errorf(forkbox.Invalid, op, "an age of %s is below zero", spec.OlderThan)
	case spec.IdleFor < 0:
		return forkbox.Errorf(forkbox.Invalid, op, "an idle time of %s is below zero", spec.IdleFor)
	case spec.MaxSize < 0:
		return forkbox.Errorf(forkbox.Invalid, op, "a size of %d bytes is below zero", spec.MaxSize)
	}
	return nil
}
