package network

import (
	"slices"
	"strings"

	"github.com/forkbox/forkbox"
)

// addedRules are rules with others in front. Whether they make sense is decided
// where they are resolved.
func addedRules(op string, own, rules []string) ([]string, error) {
	if err := someRules(op, rules); err != nil {
		return nil, err
	}
	var first []string
	for _, r := range rules {
		r = tidy(r)
		if _, ok := verdictOf(r); !ok {
			return nil, forkbox.Errorf(forkbox.Invalid, op, "%q begins with neither allow nor deny", r)
		}
		if !slices.Contains(first, r) {
			first = append(first, r)
		}
	}
	for i := range own {
		own[i] = tidy(own[i])
	}
	return inFront(first, own), nil
}

// withoutRules are a box's own rules but those that are named, each of which must be
// among them.
func withoutRules(op string, box forkbox.Box, own, rules []string) ([]string, error) {
	if err := someRules(op, rules); err != nil {
		return nil, err
	}
	called := map[string][]int{} // where the rules are that each name means
	for i, r := range shownRules(box, own) {
		for _, name := range append(namesOf(own[i]), namesOf(r)...) {
			called[name] = append(called[name], i)
		}
	}
	gone := map[int]bool{}
	for _, r := range rules {
		at := called[tidy(r)]
		if len(at) == 0 {
			return nil, noRule(op, box, r)
		}
		for _, i := range at {
			gone[i] = true
		}
	}
	var left []string
	for i, r := range own {
		if !gone[i] {
			left = append(left, r)
		}
	}
	return left, nil
}

func someRules(op string, rules []string) error {
	if len(rules) == 0 {
		return forkbox.Errorf(forkbox.Invalid, op, "no rule was given")
	}
	return nil
}

// shownRules are a box's own as people see them listed, which may be tidier
// than what was typed.
func shownRules(box forkbox.Box, own []string) []string {
	var shown []string
	for _, r := range box.Network.Rules {
		if r.From == "box" {
			shown = append(shown, r.Rule)
		}
	}
	if len(shown) != len(own) {
		return own
	}
	return shown
}

func noRule(op string, box forkbox.Box, rule string) error {
	err := forkbox.Errorf(forkbox.NotFound, op, "%s has no rule %q of its own", box.Name, rule)
	for _, r := range box.Network.Rules {
		if what, _ := verdictOf(r.Rule); slices.Contains(namesOf(r.Rule), tidy(rule)) && what == "allow" {
			return err.Hint("it is from %s; a rule in front of it decides: forkbox net deny %s RULE", r.From, box.Name)
		}
	}
	return err.Hint("forkbox net show %s lists them", box.Name)
}

// namesOf is what a user may type who means a rule: all of it, or what it is
// about.
func namesOf(rule string) []string {
	rule = tidy(rule)
	names := []string{rule}
	if what, ok := verdictOf(rule); ok {
		names = append(names, strings.TrimPrefix(rule, what+" "))
	}
	return names
}

// verdictOf is a rule's first word.
func verdictOf(rule string) (string, bool) {
	what, rest, _ := strings.Cut(rule, " ")
	return what, (what == "allow" || what == "deny") && rest != ""
}

// tidy is a rule with one space between words.
func tidy(rule string) string { return strings.Join(strings.Fields(rule), " ") }
