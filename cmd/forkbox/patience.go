package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
)

// interrupted is what ctrl-C exits with.
const interrupted = exitStatus(128 + 2)

// patiently does something that may take long: it says so, and takes ctrl-C for
// a wish to stop, which the daemon is told by the end of the connection.
func (t *console) patiently(ctx context.Context, what string, do func(context.Context) error) error {
	done := t.progress(what)
	defer done()
	return heeding([]os.Signal{os.Interrupt}, ctx, do)
}

// tidily is patiently for what has files of its own to take away again: other
// signals that end a process are wishes to stop as well.
func (t *console) tidily(ctx context.Context, what func() string, do func(context.Context) error) error {
	done := t.progressOf(what)
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

// exitStatus is an exit code to pass on without a word: a command's own, or
// that of an error that has been reported already.
type exitStatus int

func (s exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }
