package client

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/internal/wire"
)

// Exec runs a command with the caller's files as its stdin, stdout and stderr;
// a nil one is /dev/null. The daemon duplicates them: the caller still owns its
// own, and should close the ends that only the command is to hold.
//
// Where files cannot be handed over they are read and written by this process
// instead, until the session has ended.
func (c *Client) Exec(ctx context.Context, ref string, req api.ExecRequest, stdio forkbox.Stdio) (*Session, error) {
	if !c.handsOver() {
		return c.openStream(ctx, execOp(req.Argv), api.StreamExec.URL(nil, ref), api.StreamRequest{Exec: &req}, stdio)
	}
	return c.attach(ctx, api.Message{Type: api.MsgExec, Box: ref, Request: &req}, api.StartExec.URL(nil, ref), req, stdio)
}

// Run makes a box and runs a command in it: Create and Exec in one step. The
// box is returned also when the command could not be started; without an id
// there is none. So that the answer which names it is never cut off, the end of
// ctx only takes the request back as long as it waits for its place in the
// queue.
func (c *Client) Run(ctx context.Context, req api.RunRequest, stdio forkbox.Stdio) (forkbox.Box, *Session, error) {
	s, err := c.startRun(ctx, req, stdio)
	if s == nil {
		return forkbox.Box{}, nil, err
	}
	return s.made, s, err
}

func (c *Client) startRun(ctx context.Context, req api.RunRequest, stdio forkbox.Stdio) (*Session, error) {
	if !c.handsOver() {
		return c.openStream(ctx, execOp(req.Exec.Argv), api.StreamRun.URL(nil), api.StreamRequest{Create: &req.Create, Exec: &req.Exec}, stdio)
	}
	return c.attach(ctx, api.Message{Type: api.MsgExec, Create: &req.Create, Request: &req.Exec}, api.RunCommand.URL(nil), req, stdio)
}

// attach asks for an exec: with a message where a connection is there that had
// one before, with a request for an upgrade otherwise.
func (c *Client) attach(ctx context.Context, again api.Message, path string, in any, stdio forkbox.Stdio) (*Session, error) {
	op := execOp(again.Request.Argv)
	s := &Session{client: c, onLoss: again.Request.OnDisconnect, ended: make(chan struct{}), making: again.Create != nil}
	if s.again(again, stdio) {
		return s, s.started(ctx, op)
	}
	return s.join(ctx, op, path, in, stdio)
}

// AttachExec joins an exec that runs: what it writes from now on goes to the
// caller's files, and what the caller writes to it, if its stdin is open or it
// has a terminal. To close the session leaves the exec as it is.
func (c *Client) AttachExec(ctx context.Context, ref, id string, stdio forkbox.Stdio) (*Session, error) {
	if !c.handsOver() {
		return c.openStream(ctx, "attach to exec "+id, api.JoinExec.URL(nil, ref, id), api.StreamRequest{}, stdio)
	}
	s := &Session{client: c, onLoss: api.KeepOnDisconnect, ended: make(chan struct{})}
	path := api.AttachExec.URL(flags("last", stdio.Last), ref, id)
	return s.join(ctx, "attach to exec "+id, path, nil, stdio)
}

// join upgrades a connection for the session.
func (s *Session) join(ctx context.Context, op, path string, in any, stdio forkbox.Stdio) (*Session, error) {
	conn, err := s.client.upgrade(ctx, op, path, in)
	if err != nil {
		return nil, err
	}
	s.conn = wire.New(conn)
	if err := s.hand(api.Message{Type: api.MsgStdio}, stdio); err != nil {
		conn.Close()
		return nil, lost(ctx, op, err)
	}
	return s, s.started(ctx, op)
}

// again asks for an exec on a connection that had one before. It is false when
// there is none: a daemon that has gone since does not take the message.
func (s *Session) again(msg api.Message, stdio forkbox.Stdio) bool {
	for {
		select {
		case s.conn = <-s.client.idle:
			if s.hand(msg, stdio) == nil {
				return true
			}
			s.conn.Close()
		default:
			return false
		}
	}
}

// upgrade is the HTTP part, by hand: net/http's client does not give away the
// socket, and the files travel on it.
func (c *Client) upgrade(ctx context.Context, op, path string, in any) (*net.UnixConn, error) {
	req, err := newRequest(ctx, http.MethodPost, c.base+path, in)
	if err != nil {
		return nil, forkbox.Errorf(forkbox.Invalid, op, "%w", err)
	}
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", api.Protocol)
	conn, err := c.connect(ctx)
	if err != nil {
		return nil, lost(ctx, op, err)
	}
	defer interrupt(ctx, conn)()
	if err := handshake(op, conn, req); err != nil {
		conn.Close()
		return nil, lost(ctx, op, err)
	}
	return conn.(*net.UnixConn), nil
}

func handshake(op string, conn net.Conn, req *http.Request) error {
	if err := req.Write(conn); err != nil {
		return err
	}
	buf := bufio.NewReader(conn)
	resp, err := http.ReadResponse(buf, req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusSwitchingProtocols {
		return refusal(op, resp)
	}
	if buf.Buffered() > 0 { // the daemon speaks only after it was given the files
		return errors.New("it spoke out of turn")
	}
	return nil
}

// hand hands over the files.
func (s *Session) hand(first api.Message, stdio forkbox.Stdio) error {
	var files []*os.File
	for _, f := range []*os.File{stdio.In, stdio.Out, stdio.Err} {
		first.Have = append(first.Have, f != nil)
		if f != nil {
			files = append(files, f)
		}
	}
	for number, f := range stdio.Extra {
		first.Extra = append(first.Extra, number)
		files = append(files, f)
	}
	return s.conn.Send(first, files...)
}

// started hears whether the command started.
func (s *Session) started(ctx context.Context, op string) error {
	stop := s.heed(ctx)
	var msg api.Message
	got, err := s.conn.Recv(&msg)
	closeFiles(got)
	stop()
	if msg.Made != nil {
		s.made = *msg.Made
	}
	switch {
	case err != nil:
		err = lost(ctx, op, err)
	case msg.Error != nil:
		err = msg.Error
	case msg.Exec == nil:
		err = forkbox.Errorf(forkbox.Internal, op, "the daemon answered %q", msg.Type)
	default:
		s.exec = *msg.Exec
		go s.receive()
		return nil
	}
	s.conn.Close()
	return err
}

// heed hangs up when ctx ends before the answer came; where the answer has to be
// heard, it asks for it instead.
func (s *Session) heed(ctx context.Context) (stop func()) {
	if !s.making {
		return interrupt(ctx, s.conn.Unix())
	}
	undo := context.AfterFunc(ctx, func() { s.conn.Send(api.Message{Type: api.MsgGiveUp}) })
	return func() { undo() }
}

// interrupt makes reads and writes on conn fail when ctx ends, until the
// function it returns is called.
func interrupt(ctx context.Context, conn net.Conn) (stop func()) {
	undo := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	return func() { undo() }
}

func closeFiles(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}
