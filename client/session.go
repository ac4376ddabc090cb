package client

import (
	"context"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/wire"
)

// Protocol is what an exec's connection is upgraded to.
const Protocol = "forkbox-exec/1"

// Message is what the two ends of an exec's connection say. The caller begins
// with stdio, which carries the open files; the daemon answers started or
// error, and ends with exit. In between the caller may send signal and resize, and
// before the answer give-up.
type Message struct {
	Type string `json:"type"`
	// Box and Request are of an exec that follows another on its connection.
	// With Create it is in a new box, and the answer says in which.
	Box     string         `json:"box,omitempty"`
	Create  *CreateRequest `json:"create,omitempty"`
	Request *ExecRequest   `json:"request,omitempty"`
	Made    *forkbox.Box   `json:"made,omitempty"`
	Have    []bool         `json:"have,omitempty"`  // stdio: which of the three are open
	Extra   []int          `json:"extra,omitempty"` // stdio: the numbers of the files after them
	Exec    *forkbox.Exec  `json:"exec,omitempty"`
	Error   *forkbox.Error `json:"error,omitempty"`
	Signal  int            `json:"signal,omitempty"`
	Size    *forkbox.Size  `json:"size,omitempty"`
	// Text is what the caller should know while the exec runs.
	Text string `json:"text,omitempty"`
	// Stopped says that the box was stopped, as the request asked.
	Stopped bool `json:"stopped,omitempty"`
}

// The types of a [Message].
const (
	MsgStdio   = "stdio"
	MsgExec    = "exec" // stdio for the next exec, when the one before has ended
	MsgStarted = "started"
	MsgError   = "error"
	MsgExit    = "exit"
	MsgNote    = "note" // the box was paused, or goes on
	MsgSignal  = "signal"
	MsgResize  = "resize"
	// MsgGiveUp takes back what still waits for its place in the queue. The
	// answer comes in any case: it names the box where one was made.
	MsgGiveUp = "give-up"
)

// Session is an exec that the caller is attached to.
type Session struct {
	client *Client
	conn   *wire.Conn
	exec   forkbox.Exec
	making bool        // a box is made for it
	made   forkbox.Box // by Run
	onLoss string

	ended chan struct{} // closed when nothing more will be received
	exit  *forkbox.Exec // what the exit message said; nil when the connection was lost

	stopped bool
}

// Info is the exec as it was when it started.
func (s *Session) Info() forkbox.Exec { return s.exec }

// Wait blocks until the exec has ended. When the daemon goes away it finds the
// exec again through the next one: an exec outlives the daemon.
func (s *Session) Wait(ctx context.Context) (forkbox.Exec, error) {
	select {
	case <-s.ended:
	case <-ctx.Done():
		return s.exec, ctx.Err()
	}
	if s.exit != nil {
		return *s.exit, nil
	}
	return s.rejoin(ctx)
}

// Stopped says, after Wait, whether the box was stopped as the request asked.
func (s *Session) Stopped() bool { return s.stopped }

func (s *Session) rejoin(ctx context.Context) (exec forkbox.Exec, err error) {
	err = persist(ctx, func() bool { return false }, func() error {
		exec, err = s.client.WaitExec(ctx, s.exec.Box, s.exec.ID, s.onLoss)
		return err
	})
	if err != nil {
		return s.exec, err
	}
	return exec, nil
}

// Signal sends a signal to the exec.
func (s *Session) Signal(ctx context.Context, signal int) error {
	if s.conn.Send(Message{Type: MsgSignal, Signal: signal}) == nil {
		return nil
	}
	return s.client.Signal(ctx, s.exec.Box, s.exec.ID, signal)
}

// Resize changes the size of the exec's terminal.
func (s *Session) Resize(ctx context.Context, size forkbox.Size) error {
	if s.conn.Send(Message{Type: MsgResize, Size: &size}) == nil {
		return nil
	}
	return s.client.Resize(ctx, s.exec.Box, s.exec.ID, size)
}

// Suspend is [Client.Suspend] for the session's exec.
func (s *Session) Suspend(ctx context.Context) (bool, error) {
	return s.client.Suspend(ctx, s.exec.Box, s.exec.ID)
}

// Close hangs up. What that does to an exec that still runs is what the
// request's OnDisconnect said. The connection of one that has ended is kept for
// the next.
func (s *Session) Close() error {
	select {
	case <-s.ended:
		if s.exit != nil && s.client.keep(s.conn) {
			return nil
		}
	default:
	}
	return s.conn.Close()
}

// receive runs until the exit or the loss of the connection.
func (s *Session) receive() {
	defer close(s.ended)
	for {
		var msg Message
		files, err := s.conn.Recv(&msg)
		closeFiles(files)
		if err != nil {
			return
		}
		switch {
		case msg.Type == MsgExit && msg.Exec != nil:
			s.exit, s.stopped = msg.Exec, msg.Stopped
			return
		case msg.Type == MsgNote && s.client.Note != nil:
			s.client.Note(msg.Text)
		}
	}
}
