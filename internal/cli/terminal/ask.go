package terminal

import (
	"bufio"
	"fmt"
	"os"
	"strings"
)

// CanAsk says whether somebody is there to answer.
func (t *Terminal) CanAsk() bool { return !t.JSON && IsTerminal(os.Stdin) && IsTerminal(os.Stderr) }

// Answers is stdin, line by line. There is one reader for all questions: it may
// have read ahead.
func (t *Terminal) Answers() *bufio.Reader {
	if t.Stdin == nil {
		t.Stdin = bufio.NewReader(os.Stdin)
	}
	return t.Stdin
}

// Ask prints a question on stderr and returns the answer in lower case; the end
// of input is none.
func (t *Terminal) Ask(question string) string {
	fmt.Fprint(t.Stderr, question, " ")
	line, err := t.Answers().ReadString('\n')
	if err != nil {
		fmt.Fprintln(t.Stderr)
	}
	return strings.ToLower(strings.TrimSpace(line))
}

// Agree takes anything but a clear yes for no.
func (t *Terminal) Agree(question string) bool {
	answer := t.Ask(question + " [y/N]")
	return answer == "y" || answer == "yes"
}
