package forkbox

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
)

// raceFaults gathers what is wrong with a race, each with its place, so that
// who wrote it hears of everything at once.
type raceFaults struct {
	items []Caution
	hints []string
	more  int
}

func (f *raceFaults) add(at, format string, args ...any) *raceFaults {
	if len(f.items) == mostFaults {
		f.more++
		return f
	}
	f.items = append(f.items, Caution{Path: at, Why: fmt.Sprintf(format, args...)})
	return f
}

func (f *raceFaults) hint(format string, args ...any) {
	if h := fmt.Sprintf(format, args...); !slices.Contains(f.hints, h) && len(f.hints) < mostFaults {
		f.hints = append(f.hints, h)
	}
}

// take adds what another check found, in its words.
func (f *raceFaults) take(at string, err error) {
	var e *Error
	if !errors.As(err, &e) {
		return
	}
	f.add(at, "%s", e.Why)
	for _, h := range e.Hints {
		f.hint("%s", h)
	}
}

func (f *raceFaults) err() error {
	if len(f.items) == 0 {
		return nil
	}
	if f.more > 0 {
		f.items = append(f.items, Caution{Path: "race", Why: fmt.Sprintf("%d more are wrong", f.more)})
	}
	e := Errorf(Invalid, "run the race", "%s: %s", f.items[0].Path, f.items[0].Why)
	e.Items, e.Hints = f.items, f.hints
	return e
}

// most says whether there are too many.
func (f *raceFaults) most(at string, n, most int) bool {
	if n > most {
		f.add(at, "there are %d, and %d is the most", n, most)
	}
	return n > most
}

func (f *raceFaults) count(at string, n, most int) {
	switch {
	case n < 0:
		f.add(at, "%d is below zero", n)
	case n > most:
		f.add(at, "%d is too many: %d is the most", n, most)
	}
}

func (f *raceFaults) span(at string, d time.Duration) {
	switch {
	case d < 0:
		f.add(at, "%s is below zero", d)
	case d > mostSpan:
		f.add(at, "%s is more than a year", d)
	}
}

// figure is a number that is finite, not below zero and not above most.
func (f *raceFaults) figure(at string, v, most float64) {
	if !(v >= 0 && v <= most) { // so that NaN is refused, too
		f.add(at, "%v is no value for it: it is from 0 to %v", v, most)
	}
}

// text is what ends up as an argument or in a record: a NUL would end it.
func (f *raceFaults) text(at, text string, most int) {
	switch {
	case len(text) > most:
		f.add(at, "it has %d bytes, and %d is the most", len(text), most)
	case strings.Contains(text, "\x00"):
		f.add(at, "there is a NUL byte in it")
	}
}

// title is what people read in a table: one line of printable text.
func (f *raceFaults) title(at, text string, most int) {
	f.text(at, text, most)
	if i := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }); i >= 0 && len(text) <= most {
		f.add(at, "%s is not printable on one line", quote(text))
	}
}

func (f *raceFaults) env(at string, env []string) {
	if f.most(at, len(env), mostVars) {
		return
	}
	for i, v := range env {
		place := fmt.Sprintf("%s[%d]", at, i)
		if f.text(place, v, mostArgument); strings.IndexByte(v, '=') < 1 {
			f.add(place, "%s is not NAME=VALUE", quote(v))
		}
	}
}

// rules have the shape of rules. What they say is for the gate to judge.
func (f *raceFaults) rules(at string, rules []string) {
	if f.most(at, len(rules), MostRules) {
		return
	}
	for i, r := range rules {
		place := fmt.Sprintf("%s[%d]", at, i)
		f.text(place, r, 1<<10)
		if verb, what, _ := strings.Cut(r, " "); what == "" || verb != "allow" && verb != "deny" {
			f.add(place, "%s is neither \"allow X\" nor \"deny X\"", quote(r))
		}
	}
}

// quote is text that a client sent, fit to be shown.
func quote(text string) string { return fmt.Sprintf("%q", cut(text)) }

func cut(text string) string {
	if len(text) > 60 {
		return text[:60] + "…"
	}
	return text
}
