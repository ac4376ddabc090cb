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
	"github.com/forkbox/forkbox/internal/wire"
)

// Exec runs a command with the caller's files as its stdin, stdout and stderr;
// a nil one is /dev/null. The daemon duplicates them: the caller still owns its
// own, and should close the ends that only the command is to hold.
func (c *Client) Exec(ctx context.Context, ref string, req ExecRequest, stdio forkbox.Stdio) (*Session, error) {
	op := execOp(req.Argv)
	conn, err := c.upgrade(ctx, op, boxPath(ref, "execs"), req)
	if err != nil {
		return nil, err
	}
	s := &Session{client: c, conn: wire.New(conn), onLoss: req.OnDisconnect, ended: make(chan struct{})}
	if err := s.begin(ctx, op, stdio); err != nil {
		conn.Close()
		return nil, err
	}
	go s.receive()
	return s, nil
}

// upgrade is the HTTP part, by hand: net/http's client does not give away the
// socket, and the files travel on it.
func (c *Client) upgrade(ctx context.Context, op, path string, in any) (*net.UnixConn, error) {
	req, err := newRequest(ctx, http.MethodPost, path, in)
	if err != nil {
		return nil, forkbox.Errorf(forkbox.Invalid, op, "%w", err)
	}
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", Protocol)
	conn, err := c.dial(ctx)
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

// begin hands over the files and hears whether the command started.
func (s *Session) begin(ctx context.Context, op string, stdio forkbox.Stdio) error {
	defer interrupt(ctx, s.conn.Unix())()
	first := Message{Type: MsgStdio}
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
	if err := s.conn.Send(first, files...); err != nil {
		return lost(ctx, op, err)
	}
	var msg Message
	got, err := s.conn.Recv(&msg)
	closeFiles(got)
	switch {
	case err != nil:
		return lost(ctx, op, err)
	case msg.Error != nil:
		return msg.Error
	case msg.Exec == nil:
		return forkbox.Errorf(forkbox.Internal, op, "the daemon answered %q", msg.Type)
	}
	s.exec = *msg.Exec
	return nil
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
