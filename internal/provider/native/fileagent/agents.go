//go:build linux

// Package fileagent is the daemon's end of the processes in a box that read and
// write its files: it has them started when they are needed, gives each request a
// connection to one, and lets those go that nothing needs any more.
package fileagent

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/wire"
)

// Agents are those of one box, one for each user that asked.
type Agents struct {
	// Enter is called before the box is used, and leave when that is over. It
	// fails where the box must not be used now.
	Enter func() (leave func(), err error)
	// Start starts an agent of a user with its end of the control socket. ended is
	// called when the agent has been let go.
	Start func(ctx context.Context, owner forkbox.Owner, control *os.File) (ended func(), err error)

	mu      sync.Mutex // held while one is started
	running map[int]*agent
}

// agent is the daemon's end of one.
type agent struct {
	control *wire.Conn
	ended   func()

	mu   sync.Mutex
	open int // connections
	last *time.Timer
	gone bool
}

const (
	// rest is how long an agent without a connection stays.
	rest = 2 * time.Second
	// sendLimit is how long an agent may take to accept a connection.
	sendLimit = 10 * time.Second
)

// Files connects to the agent of a user.
func (s *Agents) Files(ctx context.Context, owner forkbox.Owner) (net.Conn, error) {
	leave, err := s.Enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	s.mu.Lock()
	defer s.mu.Unlock()
	var failed error
	for range 2 { // one that was there may just have ended
		a, err := s.of(ctx, owner)
		if err != nil {
			return nil, err
		}
		conn, err := a.connect()
		if err == nil {
			return conn, nil
		}
		failed = err
		s.end(owner.UID, a)
	}
	return nil, forkbox.Errorf(forkbox.Busy, "reach the box's files", "%w", failed)
}

// of is the agent of a user, started if there is none. The caller holds mu.
func (s *Agents) of(ctx context.Context, owner forkbox.Owner) (*agent, error) {
	if a := s.running[owner.UID]; a != nil && !a.isGone() {
		return a, nil
	}
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	ended, err := s.Start(ctx, owner, theirs)
	if err != nil {
		ours.Close()
		return nil, err
	}
	a := &agent{control: wire.New(ours), ended: sync.OnceFunc(ended)}
	if s.running == nil {
		s.running = map[int]*agent{}
	}
	s.running[owner.UID] = a
	go s.await(owner.UID, a)
	return a, nil
}

// await sees an agent off. It never says anything on its control socket:
// whatever comes there is its end.
func (s *Agents) await(uid int, a *agent) {
	_, _ = a.control.Unix().Read(make([]byte, 1))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end(uid, a)
}

// end lets go of an agent, which ends it. The caller holds mu.
func (s *Agents) end(uid int, a *agent) {
	if s.running[uid] == a {
		delete(s.running, uid)
	}
	a.end()
	a.ended()
}

// connect sends one end of a new connection.
func (a *agent) connect() (net.Conn, error) {
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	// Before it is sent: else the agent could be let go while it has it.
	if !a.engage() {
		ours.Close()
		return nil, errGone
	}
	_ = a.control.Unix().SetWriteDeadline(time.Now().Add(sendLimit))
	if err := a.control.Send(struct{}{}, theirs); err != nil {
		ours.Close()
		a.released()
		return nil, err
	}
	return &conn{Conn: ours, closed: sync.OnceFunc(a.released)}, nil
}

// errGone is of an agent that was let go.
var errGone = errors.New("what reads and writes files in the box has ended")

// engage counts a connection. It says no where the agent was let go.
func (a *agent) engage() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.gone {
		return false
	}
	a.open++
	if a.last != nil {
		a.last.Stop()
	}
	return true
}

// released is the end of a connection. After the last one the agent ends soon.
func (a *agent) released() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open--; a.open == 0 && !a.gone {
		a.last = time.AfterFunc(rest, a.endUnused)
	}
}

// endUnused may come late: a timer that has fired cannot be stopped.
func (a *agent) endUnused() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open == 0 {
		a.close()
	}
}

func (a *agent) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.close()
}

// close lets go of it. The caller holds mu.
func (a *agent) close() {
	a.gone = true
	a.control.Close()
}

func (a *agent) isGone() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.gone
}

// conn tells when it is closed.
type conn struct {
	net.Conn
	closed func()
}

func (c *conn) Close() error {
	defer c.closed()
	return c.Conn.Close()
}

func socketPair() (*net.UnixConn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "ours"), os.NewFile(uintptr(fds[1]), "theirs")
	defer ours.Close()
	made, err := net.FileConn(ours)
	if err != nil {
		theirs.Close()
		return nil, nil, err
	}
	return made.(*net.UnixConn), theirs, nil
}
