package client

import (
	"context"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/internal/wire"
)

// Session is an exec that the caller is attached to.
type Session struct {
	client *Client
	conn   *wire.Conn // where files can be handed over,
	stream *stream    // and where they cannot
	exec   forkbox.Exec
	making bool        // a box is made for it
	made   forkbox.Box // by Run
	onLoss string

	ended chan struct{} // closed when nothing more will be received
	exit  *forkbox.Exec // what the exit message said; nil when the connection was lost
	fault error         // why it was, where the daemon said so

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
	switch {
	case s.exit != nil:
		return *s.exit, nil
	case s.fault != nil:
		return s.exec, s.fault
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
	if s.stream == nil && s.conn.Send(api.Message{Type: api.MsgSignal, Signal: signal}) == nil {
		return nil
	}
	return s.client.Signal(ctx, s.exec.Box, s.exec.ID, signal)
}

// Resize changes the size of the exec's terminal.
func (s *Session) Resize(ctx context.Context, size forkbox.Size) error {
	if s.stream == nil && s.conn.Send(api.Message{Type: api.MsgResize, Size: &size}) == nil {
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
	if s.stream != nil {
		return s.stream.close()
	}
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
		var msg api.Message
		files, err := s.conn.Recv(&msg)
		closeFiles(files)
		if err != nil {
			return
		}
		switch {
		case msg.Type == api.MsgExit && msg.Exec != nil:
			s.exit, s.stopped = msg.Exec, msg.Stopped
			return
		case msg.Type == api.MsgNote && s.client.Note != nil:
			s.client.Note(msg.Text)
		}
	}
}
