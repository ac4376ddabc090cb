//go:build !unix

package stdio

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"strconv"
	"sync"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/cli/terminal"
)

// interrupt is the number that ctrl-C has in a box.
const interrupt = 2

// Signals catches ctrl-C, the one signal that this system has. Until a command
// runs it ends the attempt; from then on it goes to the command.
type Signals struct {
	ch     chan os.Signal
	cancel context.CancelFunc

	mu      sync.Mutex
	early   bool
	session *client.Session
}

// CatchSignals returns a context that ends with a signal that came before the
// command ran.
func CatchSignals(ctx context.Context) (context.Context, *Signals) {
	ctx, cancel := context.WithCancel(ctx)
	s := &Signals{ch: make(chan os.Signal, 1), cancel: cancel}
	signal.Notify(s.ch, os.Interrupt)
	go func() {
		for range s.ch {
			s.handle()
		}
	}()
	return ctx, s
}

func (s *Signals) handle() {
	s.mu.Lock()
	session := s.session
	if session == nil {
		s.early = true
		s.cancel()
	}
	s.mu.Unlock()
	if session != nil {
		session.Signal(context.Background(), interrupt)
	}
}

// Forward gives what comes from now on to the command.
func (s *Signals) Forward(session *client.Session, _ func() forkbox.Size, _ bool) {
	s.mu.Lock()
	s.session = session
	early := s.early
	s.mu.Unlock()
	if early {
		session.Signal(context.Background(), interrupt)
	}
}

// LeaveOn is for signals that this system does not have.
func (*Signals) LeaveOn(func()) {}

// OrError is how an attempt ended that failed with err: by ctrl-C, if that came.
func (s *Signals) OrError(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.early && errors.Is(err, context.Canceled) {
		return terminal.ExitStatus(128 + interrupt)
	}
	return err
}

// Release gives ctrl-C its usual meaning back. It can be repeated.
func (s *Signals) Release() {
	signal.Stop(s.ch)
	s.cancel()
}

// SignalNumber knows no names here.
func SignalNumber(name string) (int, bool) {
	n, err := strconv.Atoi(name)
	return n, err == nil && n > 0 && n <= 64
}
