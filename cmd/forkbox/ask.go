package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
)

// canAsk says whether somebody is there to answer.
func (t *console) canAsk() bool { return !t.json && isTerminal(os.Stdin) && isTerminal(os.Stderr) }

// answers is stdin, line by line. There is one reader for all questions: it may
// have read ahead.
func (t *console) answers() *bufio.Reader {
	if t.stdin == nil {
		t.stdin = bufio.NewReader(os.Stdin)
	}
	return t.stdin
}

// ask prints a question on stderr and returns the answer in lower case; the end
// of input is none.
func (t *console) ask(question string) string {
	fmt.Fprint(t.stderr, question, " ")
	line, err := t.answers().ReadString('\n')
	if err != nil {
		fmt.Fprintln(t.stderr)
	}
	return strings.ToLower(strings.TrimSpace(line))
}

// agree takes anything but a clear yes for no.
func (t *console) agree(question string) bool {
	answer := t.ask(question + " [y/N]")
	return answer == "y" || answer == "yes"
}
