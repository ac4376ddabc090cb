package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
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

// askUnlessInterrupted is ask for who has something to say after a ctrl-C: that
// is no answer, and does not end the program.
func (a *app) askUnlessInterrupted(question string) (answer string, interrupted bool) {
	caught := make(chan os.Signal, 1)
	if !signal.Ignored(os.Interrupt) {
		signal.Notify(caught, os.Interrupt)
		defer signal.Stop(caught)
	}
	answered := make(chan string, 1)
	go func() { answered <- a.ask(question) }()
	select {
	case answer := <-answered:
		return answer, false
	case <-caught: // what reads goes on reading, until the program ends
		fmt.Fprintln(a.stderr)
		return "", true
	}
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
	done := a.progress(what)
	defer done()
	return heeding([]os.Signal{os.Interrupt}, ctx, do)
}

// tidily is patiently for what has files of its own to take away again: other
// signals that end a process are wishes to stop as well.
func (a *app) tidily(ctx context.Context, what func() string, do func(context.Context) error) error {
	done := a.progressOf(what)
	defer done()
	return heeding([]os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}, ctx, do)
}

// heeding does something under a context that ends with a signal. The error is
// then the exit status that the signal asks for.
func heeding(list []os.Signal, ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	caught := make(chan os.Signal, 1)
	for _, sig := range list {
		if !signal.Ignored(sig) { // as in a script's background: then it is ignored here too
			signal.Notify(caught, sig)
		}
	}
	defer signal.Stop(caught)
	var got atomic.Int32
	go func() {
		select {
		case sig := <-caught:
			if number, ok := sig.(syscall.Signal); ok {
				got.Store(int32(number))
			}
			cancel()
		case <-ctx.Done():
		}
	}()
	err := do(ctx)
	if sig := got.Load(); errors.Is(err, context.Canceled) && sig != 0 {
		return exitStatus(128 + sig)
	}
	return err
}
