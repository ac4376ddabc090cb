//go:build unix

package stdio

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/cli/terminal"
	"golang.org/x/sys/unix"
)

// forwarded are the signals that are the command's, not ours.
var forwarded = []os.Signal{
	syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT,
	syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH, syscall.SIGTSTP, syscall.SIGCONT,
}

// Signals catches what is sent to this process. Until a command runs they end
// the attempt; from then on they go to the command.
type Signals struct {
	ch     chan os.Signal
	cancel context.CancelFunc

	mu      sync.Mutex
	early   syscall.Signal   // what ended the attempt
	waiting []syscall.Signal // what came before there was a command, and does not end one
	session *client.Session
	size    func() forkbox.Size
	tty     bool
	suspend *suspender
	leave   func() // where the command is not the caller's to end: what TERM and HUP do
}

// CatchSignals returns a context that ends with a signal that came before the
// command ran.
func CatchSignals(ctx context.Context) (context.Context, *Signals) {
	ctx, cancel := context.WithCancel(ctx)
	s := &Signals{ch: make(chan os.Signal, 16), cancel: cancel}
	for _, sig := range forwarded {
		if !ignored(sig.(syscall.Signal)) { // as under nohup: the command ignores it too
			signal.Notify(s.ch, sig)
		}
	}
	// A broken stderr must not end us before the box is at rest. Caught, not
	// ignored: a child would inherit that.
	signal.Notify(s.ch, syscall.SIGPIPE)
	go func() {
		for sig := range s.ch {
			s.handle(sig.(syscall.Signal))
		}
	}()
	return ctx, s
}

// LeaveOn has TERM and HUP leave the command alone: it runs in the background,
// and this process only looks on.
func (s *Signals) LeaveOn(leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leave = leave
}

// Forward gives what comes from now on, and what came too late to stop the
// start, to the command.
func (s *Signals) Forward(session *client.Session, size func() forkbox.Size, tty bool) {
	s.mu.Lock()
	s.session, s.size, s.tty = session, size, tty
	waiting := s.waiting
	if s.early != 0 {
		waiting = append(waiting, s.early)
	}
	s.mu.Unlock()
	for _, sig := range waiting {
		s.handle(sig)
	}
}

func (s *Signals) handle(sig syscall.Signal) {
	s.mu.Lock()
	session, suspend := s.session, s.suspend
	if s.leave != nil && (sig == syscall.SIGTERM || sig == syscall.SIGHUP) {
		s.mu.Unlock()
		s.leave()
		return
	}
	switch {
	case session != nil || sig == syscall.SIGPIPE:
	case !ends(sig):
		s.waiting = append(s.waiting, sig)
	case s.early == 0:
		s.early = sig
		s.cancel()
	}
	s.mu.Unlock()
	if session == nil || sig == syscall.SIGPIPE {
		return
	}
	ctx := context.Background()
	switch {
	case sig == syscall.SIGWINCH && s.tty:
		session.Resize(ctx, s.size())
	case sig == syscall.SIGTSTP && suspend != nil:
		suspend.stop()
	case sig == syscall.SIGTSTP:
		// The shell waits for us to stop: stop with the command. In a box the
		// command has no job-control shell above it, so the kernel ignores a
		// TSTP that it does not handle; STOP follows.
		session.Signal(ctx, int(sig))
		session.Signal(ctx, int(syscall.SIGSTOP))
		unix.Kill(unix.Getpid(), unix.SIGSTOP) // CONT is forwarded when it comes
	default:
		session.Signal(ctx, int(sig))
	}
}

func ends(sig syscall.Signal) bool {
	switch sig {
	case syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT:
		return true
	}
	return false
}

// OrError is how an attempt ended that failed with err: by a signal, if one
// came.
func (s *Signals) OrError(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.early != 0 && errors.Is(err, context.Canceled) {
		return terminal.ExitStatus(128 + int(s.early))
	}
	return err
}

// Release gives the signals their usual meaning back. It can be repeated.
func (s *Signals) Release() {
	signal.Stop(s.ch)
	s.cancel()
}

// SignalNumber reads HUP, SIGHUP, hup and 1.
func SignalNumber(name string) (int, bool) {
	if n, err := strconv.Atoi(name); err == nil {
		return n, n > 0 && n <= 64
	}
	upper := strings.ToUpper(name)
	if !strings.HasPrefix(upper, "SIG") {
		upper = "SIG" + upper
	}
	sig := unix.SignalNum(upper)
	return int(sig), sig != 0
}
