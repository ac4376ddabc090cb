package change

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/forkbox/forkbox/internal/cli/terminal"
	"github.com/forkbox/forkbox/internal/review/patch"
)

// pickKey is one answer: what it does, and when it makes sense.
type pickKey struct {
	name, help string
	takesText  bool
	when       func(*pickSession) bool
	sorry      string // where it makes none
	do         func(s *pickSession, text string)
}

// pickKeys are those of git add -p, in its order.
func pickKeys() []pickKey {
	return []pickKey{
		{name: "y", help: "apply this", do: func(s *pickSession, _ string) { s.decide(wanted) }},
		{name: "n", help: "do not apply this", do: func(s *pickSession, _ string) { s.decide(unwanted) }},
		{name: "q", help: "quit; of what was not answered yet, nothing", do: func(s *pickSession, _ string) { s.quit = true }},
		{name: "a", help: "apply this and all later hunks of the file", do: func(s *pickSession, _ string) { s.decideRest(wanted) }},
		{name: "d", help: "apply neither this nor any later hunk of the file", do: func(s *pickSession, _ string) { s.decideRest(unwanted) }},
		{name: "k", help: "leave this open, see the open hunk before", when: openBefore, sorry: "No open hunk before", do: func(s *pickSession, _ string) { s.find(-1, true) }},
		{name: "K", help: "leave this open, see the hunk before", when: anyBefore, sorry: "No hunk before", do: func(s *pickSession, _ string) { s.find(-1, false) }},
		{name: "j", help: "leave this open, see the next open hunk", when: openAfter, sorry: "No open hunk after", do: func(s *pickSession, _ string) { s.find(1, true) }},
		{name: "J", help: "leave this open, see the next hunk", when: anyAfter, sorry: "No hunk after", do: func(s *pickSession, _ string) { s.find(1, false) }},
		{name: "g", help: "go to a hunk by its number", takesText: true, when: several, sorry: "No other hunks to go to", do: goTo},
		{name: "/", help: "go to a hunk that matches a regular expression", takesText: true, when: several, sorry: "No other hunks to search", do: search},
		{name: "s", help: "split this hunk into smaller ones", when: divisible, sorry: "This hunk cannot be split", do: divide},
		{name: "?", help: "this help", do: pickHelp},
	}
}

func (s *pickSession) decide(a answer) { s.file.units[s.at].answer = a }

func (s *pickSession) decideRest(a answer) {
	for i := s.at; i < len(s.file.units); i++ {
		if i == s.at || s.file.units[i].answer == undecided {
			s.file.units[i].answer = a
		}
	}
}

// seek is the nearest question in a direction, -1 if there is none.
func (s *pickSession) seek(step int, open bool) int {
	for i := s.at + step; i >= 0 && i < len(s.file.units); i += step {
		if !open || s.file.units[i].answer == undecided {
			return i
		}
	}
	return -1
}

func (s *pickSession) find(step int, open bool) { s.goTo(s.seek(step, open)) }

func (s *pickSession) goTo(i int) { s.at, s.shown = i, 0 }

func openBefore(s *pickSession) bool { return s.seek(-1, true) >= 0 }
func anyBefore(s *pickSession) bool  { return s.seek(-1, false) >= 0 }
func openAfter(s *pickSession) bool  { return s.seek(1, true) >= 0 }
func anyAfter(s *pickSession) bool   { return s.seek(1, false) >= 0 }
func several(s *pickSession) bool    { return len(s.file.units) > 1 }
func divisible(s *pickSession) bool  { return len(s.file.units[s.at].runs) > 1 }

func divide(s *pickSession, _ string) {
	n := len(s.file.units)
	s.file.divide(s.at)
	fmt.Fprintln(s.out, s.paint(terminal.Bold, fmt.Sprintf("Split into %d hunks.", len(s.file.units)-n+1)))
	s.goTo(s.at)
}

func goTo(s *pickSession, text string) {
	if text == "" {
		for i, unit := range s.file.units {
			fmt.Fprintf(s.out, "%s%2d: %s\n", " +-"[unit.answer:unit.answer+1], i+1, terminal.Visible([]byte(unit.hunk.Header())))
		}
		text = s.more("go to which hunk?")
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > len(s.file.units) {
		s.tell("There are hunks 1 to %d", len(s.file.units))
		return
	}
	s.goTo(n - 1)
}

// search begins after the hunk on the screen and comes round to it.
func search(s *pickSession, text string) {
	if text == "" {
		text = s.more("search for regular expression?")
	}
	pattern, err := regexp.Compile("(?m)" + text)
	if err != nil || text == "" {
		s.tell("That is no regular expression")
		return
	}
	n := len(s.file.units)
	for i := 1; i <= n; i++ {
		if at := (s.at + i) % n; slices.ContainsFunc(s.file.units[at].hunk.Lines, func(line patch.Line) bool { return pattern.Match(line.Text) }) {
			s.goTo(at)
			return
		}
	}
	s.tell("No hunk matches")
}

func pickHelp(s *pickSession, _ string) {
	for _, key := range pickKeys() {
		if key.when == nil || key.when(s) {
			fmt.Fprintf(s.out, "%s - %s\n", key.name, key.help)
		}
	}
}
