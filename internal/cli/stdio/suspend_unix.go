//go:build unix

package stdio

import (
	"context"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/cli/terminal"
	"golang.org/x/sys/unix"
)

// ctrlZ stops a command, as elsewhere.
const ctrlZ = 'Z' - '@'

// keyboard is the caller's terminal. A command that has a terminal of its own is
// given every key of it.
type keyboard struct {
	file    *os.File
	restore func()
}

func (k *keyboard) take() {
	if k.restore == nil {
		k.restore = terminal.MakeRaw(k.file)
	}
}

func (k *keyboard) giveBack() {
	if k.restore != nil {
		k.restore()
		k.restore = nil
	}
}

// suspender does what ctrl-Z does to a command: it stops, and this process with
// it. The shell that started us waits for that, and continues us with fg.
type suspender struct {
	session *client.Session
	signals *Signals
	size    func() forkbox.Size

	mu   sync.Mutex
	keys *keyboard
}

// stop returns when both go on, or false if nothing stopped.
func (s *suspender) stop() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !continuable() {
		return false
	}
	ctx := context.Background()
	if stopped, err := s.session.Suspend(ctx); err != nil || !stopped {
		return false
	}
	s.keys.file.WriteString("^Z")
	s.keys.giveBack()
	s.signals.stopGroup()
	s.session.Signal(ctx, int(syscall.SIGCONT))
	return true
}

// InForeground is called when this process has its terminal, and may have just
// got it back.
func (s *suspender) inForeground() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keys.restore == nil {
		s.keys.take()
		s.session.Resize(context.Background(), s.size())
	}
}

// end puts the terminal back as it was.
func (s *suspender) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys.giveBack()
}

// continuable says whether our parent is a shell of the same session, which
// could continue us.
func continuable() bool {
	mine, err := unix.Getsid(0)
	parents, err2 := unix.Getsid(unix.Getppid())
	return err == nil && err2 == nil && mine == parents
}

// stopGroup stops what the key would have stopped: a script around us, and us.
// We ourselves stop by a signal to this very thread: it goes no further before
// that.
func (s *Signals) stopGroup() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	signal.Ignore(syscall.SIGTSTP)
	unix.Kill(0, unix.SIGTSTP)
	stopThread()
	signal.Notify(s.ch, syscall.SIGTSTP)
}
