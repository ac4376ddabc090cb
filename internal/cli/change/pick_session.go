package change

import (
	"bufio"
	"bytes"
	"fmt"
	"strings"

	"github.com/forkbox/forkbox/internal/cli/terminal"
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
