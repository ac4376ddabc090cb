package change

import (
	"bufio"
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/forkbox/forkbox/internal/cli/terminal"
	"github.com/forkbox/forkbox/internal/review/patch"
)

// pickSession is the questions about one file.
type pickSession struct {
	*picker
	file  *pickFile
	at    int // the question
	shown int // the unit on the screen, from 1
	quit  bool
}

// run goes on until every question is answered.
func (s *pickSession) run() {
	s.header()
	for !s.quit && s.advance() {
		if s.shown != s.at+1 {
			s.showUnit()
		}
		fmt.Fprint(s.out, s.paint(terminal.Bold, s.prompt()), " ")
		line, err := s.in.ReadString('\n')
		if err != nil && line == "" {
			fmt.Fprintln(s.out)
			s.quit = true
			return
		}
		s.answer(strings.TrimSpace(line))
	}
}

// advance stays where it was sent, or finds the next open question, from the
// top again if need be.
func (s *pickSession) advance() bool {
	if s.at < len(s.file.units) && s.shown != s.at+1 {
		return true
	}
	n := len(s.file.units)
	for i := range n {
		if at := (s.at + i) % n; s.file.units[at].answer == undecided {
			s.at = at
			return true
		}
	}
	return false
}

func (s *pickSession) prompt() string {
	what := s.file.what
	if what == "" {
		what = "this hunk"
	}
	return fmt.Sprintf("(%d/%d) Apply %s [%s]?", s.at+1, len(s.file.units), what, strings.Join(s.keys(), ","))
}

// keys are those that make sense here.
func (s *pickSession) keys() []string {
	var keys []string
	for _, key := range pickKeys() {
		if key.when == nil || key.when(s) {
			keys = append(keys, key.name)
		}
	}
	return keys
}

func (s *pickSession) answer(line string) {
	if line == "" {
		s.shown = 0 // as git: show it again
		return
	}
	for _, key := range pickKeys() {
		if rest, ok := strings.CutPrefix(line, key.name); ok && (rest == "" || key.takesText) {
			if key.when != nil && !key.when(s) {
				s.tell("%s", key.sorry)
				return
			}
			key.do(s, strings.TrimSpace(rest))
			return
		}
	}
	pickHelp(s, "")
}

// more asks for what a key needs.
func (s *pickSession) more(question string) string {
	fmt.Fprint(s.out, question, " ")
	line, _ := s.in.ReadString('\n')
	return strings.TrimSpace(line)
}

func (s *pickSession) tell(format string, args ...any) {
	fmt.Fprintln(s.out, s.paint(terminal.Red, fmt.Sprintf(format, args...)))
}

func (p *picker) paint(c terminal.Colour, text string) string {
	if !p.colour {
		return text
	}
	return c.Paint(text)
}

// header is what the patch says before its hunks; without one, the change as
// diff lists it.
func (s *pickSession) header() {
	c := s.file.change
	out := bufio.NewWriter(s.out)
	defer out.Flush()
	if note := patchNote(s.here, c); note != "" {
		fmt.Fprintln(out, s.paint(terminal.Cyan, note))
	}
	if s.file.what != "" {
		showPatch(out, c, s.colour)
		return
	}
	head := c.Patch
	if end := bytes.Index(head, []byte("\n@@ ")); end >= 0 {
		head = head[:end+1]
	}
	painter := patchPainter{out: out, colour: s.colour}
	painter.write(head)
	painter.end()
}

func (s *pickSession) showUnit() {
	s.shown = s.at + 1
	if s.file.what != "" {
		return
	}
	var text bytes.Buffer
	s.file.units[s.at].hunk.Write(&text)
	out := bufio.NewWriter(s.out)
	defer out.Flush()
	painter := patchPainter{out: out, colour: s.colour}
	painter.write(text.Bytes())
	painter.end()
}

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
