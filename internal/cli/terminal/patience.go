package terminal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
)

// Interrupted is what ctrl-C exits with.
const Interrupted = ExitStatus(128 + 2)

// Patiently does something that may take long: it says so, and takes ctrl-C for
// a wish to stop, which the daemon is told by the end of the connection.
func (t *Terminal) Patiently(ctx context.Context, what string, do func(context.Context) error) error {
	done := t.Progress(what)
	defer done()
	return Heeding([]os.Signal{os.Interrupt}, ctx, do)
}

// Tidily is patiently for what has files of its own to take away again: other
// signals that end a process are wishes to stop as well.
func (t *Terminal) Tidily(ctx context.Context, what func() string, do func(context.Context) error) error {
	done := t.ProgressOf(what)
	defer done()
	return Heeding([]os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}, ctx, do)
}

// Heeding does something under a context that ends with a signal. The error is
// then the exit status that the signal asks for.
func Heeding(list []os.Signal, ctx context.Context, do func(context.Context) error) error {
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
		return ExitStatus(128 + sig)
	}
	return err
}

// ExitStatus is an exit code to pass on without a word: a command's own, or
// that of an error that has been reported already.
type ExitStatus int

func (s ExitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }
