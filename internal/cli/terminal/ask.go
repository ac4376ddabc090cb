package terminal

import (
	"bufio"
	"fmt"
	"os"
	"os/signal"
	"strings"
)

// CanAsk says whether a user is there to answer.
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

// AskUnlessInterrupted is Ask for a caller who has something to say after a
// ctrl-C: that is no answer, and does not end the program.
func (t *Terminal) AskUnlessInterrupted(question string) (answer string, interrupted bool) {
	caught := make(chan os.Signal, 1)
	if !signal.Ignored(os.Interrupt) {
		signal.Notify(caught, os.Interrupt)
		defer signal.Stop(caught)
	}
	answered := make(chan string, 1)
	go func() { answered <- t.Ask(question) }()
	select {
	case answer := <-answered:
		return answer, false
	case <-caught: // what reads goes on reading, until the program ends
		fmt.Fprintln(t.Stderr)
		return "", true
	}
}

// Agree takes anything but a clear yes for no.
func (t *Terminal) Agree(question string) bool {
	answer := t.Ask(question + " [y/N]")
	return answer == "y" || answer == "yes"
}
