package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
)

// canAsk says whether somebody is there to answer.
func (a *app) canAsk() bool { return !a.json && isTerminal(os.Stdin) && isTerminal(os.Stderr) }

// answers is stdin, line by line. There is one reader for all questions: it may
// have read ahead.
func (a *app) answers() *bufio.Reader {
	if a.stdin == nil {
		a.stdin = bufio.NewReader(os.Stdin)
	}
	return a.stdin
}

// ask prints a question on stderr and returns the answer in lower case; the end
// of input is none.
func (a *app) ask(question string) string {
	fmt.Fprint(a.stderr, question, " ")
	line, err := a.answers().ReadString('\n')
	if err != nil {
		fmt.Fprintln(a.stderr)
	}
	return strings.ToLower(strings.TrimSpace(line))
}

// agree takes anything but a clear yes for no.
func (a *app) agree(question string) bool {
	answer := a.ask(question + " [y/N]")
	return answer == "y" || answer == "yes"
}

// interrupted is what ctrl-C exits with.
const interrupted = exitStatus(128 + 2)

// patiently does something that may take long: it says so, and takes ctrl-C for
// a wish to stop, which the daemon is told by the end of the connection.
func (a *app) patiently(ctx context.Context, what string, do func(context.Context) error) error {
	if !signal.Ignored(os.Interrupt) { // as in a script's background: then it is ignored here too
		var release func()
		ctx, release = signal.NotifyContext(ctx, os.Interrupt)
		defer release()
	}
	done := a.progress(what)
	err := do(ctx)
	done()
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return interrupted
	}
	return err
}
