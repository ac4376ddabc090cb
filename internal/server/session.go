package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
	"github.com/forkbox/forkbox/internal/wire"
)

// session is an exec whose caller is attached, after the upgrade.
type session struct {
	*Server
	req  *http.Request
	conn *wire.Conn
	exec forkbox.Exec
	gone chan struct{} // closed when the caller hung up
}

// attach upgrades the connection and stays until the exec ends, the caller
// hangs up or the daemon stops.
func (s *Server) attach(w http.ResponseWriter, r *http.Request, req client.ExecRequest) error {
	conn, err := upgrade(w)
	if err != nil {
		return err
	}
	defer conn.Close()
	c := &session{Server: s, req: r, conn: wire.New(conn), gone: make(chan struct{})}
	if err := c.start(req); err != nil {
		c.conn.Send(client.Message{Type: client.MsgError, Error: toError(err)})
		return err
	}
	go c.listen()
	return c.finish(req)
}

func upgrade(w http.ResponseWriter) (*net.UnixConn, error) {
	conn, buf, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil, err
	}
	unix, ok := conn.(*net.UnixConn)
	if !ok || buf.Reader.Buffered() > 0 {
		conn.Close()
		return nil, errors.New("the connection cannot carry files")
	}
	conn.SetDeadline(time.Time{})
	_, err = fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", client.Protocol)
	if err != nil {
		conn.Close()
		return nil, err
	}
	return unix, nil
}

// handoverTime is how long a caller gets to hand over its files.
const handoverTime = 10 * time.Second

func (c *session) start(req client.ExecRequest) error {
	c.conn.Unix().SetReadDeadline(time.Now().Add(handoverTime))
	var first client.Message
	files, err := c.conn.Recv(&first)
	if err != nil {
		return forkbox.Errorf(forkbox.Invalid, "take over the files", "%w", err)
	}
	c.conn.Unix().SetReadDeadline(time.Time{})
	stdio, err := toStdio(first, files)
	if err != nil {
		return err
	}
	// Not cancelled half-way by a caller that hangs up: listen sees to that.
	ctx := context.WithoutCancel(c.req.Context())
	c.exec, err = c.Engine.Exec(ctx, who(c.req), c.req.PathValue("box"), engineRequest(req), stdio)
	if err == nil {
		c.conn.Send(client.Message{Type: client.MsgStarted, Exec: &c.exec})
	}
	return err
}

// toStdio puts the files that came where the message says they belong.
func toStdio(msg client.Message, files []*os.File) (stdio forkbox.Stdio, err error) {
	const op = "take over the files"
	wanted := len(msg.Extra)
	for _, have := range msg.Have {
		if have {
			wanted++
		}
	}
	switch {
	case msg.Type != client.MsgStdio, len(msg.Have) > 3, wanted != len(files), !validExtra(msg.Extra):
		err = forkbox.Errorf(forkbox.Invalid, op, "the first message must be stdio with its files")
	case !onlyPipes(files):
		err = forkbox.Errorf(forkbox.Invalid, op, "only pipes and sockets may be handed into a box").
			Hint("relay a file or terminal through a pipe: a box could reopen it for writing")
	}
	if err != nil {
		for _, f := range files {
			f.Close()
		}
		return forkbox.Stdio{}, err
	}
	return place(msg, files), nil
}

func place(msg client.Message, files []*os.File) (stdio forkbox.Stdio) {
	slots := [...]**os.File{&stdio.In, &stdio.Out, &stdio.Err}
	for i, have := range msg.Have {
		if have {
			*slots[i], files = files[0], files[1:]
		}
	}
	stdio.Extra = map[int]*os.File{}
	for i, number := range msg.Extra {
		stdio.Extra[number] = files[i]
	}
	return stdio
}

// validExtra: each number once, none of them stdio.
func validExtra(numbers []int) bool {
	seen := map[int]bool{}
	for _, n := range numbers {
		if n < 3 || n > forkbox.MaxFD || seen[n] {
			return false
		}
		seen[n] = true
	}
	return len(numbers) <= forkbox.MaxExtra
}

// onlyPipes: whatever else a box holds it could reopen through /proc, on
// reality's own mount. The command line never sends anything else; this is for
// clients that do.
func onlyPipes(files []*os.File) bool {
	for _, f := range files {
		info, err := f.Stat()
		if err != nil || info.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 {
			return false
		}
	}
	return true
}

// listen obeys the caller until it hangs up.
func (c *session) listen() {
	defer close(c.gone)
	for {
		var msg client.Message
		files, err := c.conn.Recv(&msg)
		for _, f := range files {
			f.Close()
		}
		if err != nil {
			return
		}
		if err := c.obey(msg); err != nil {
			c.Log.Debug("exec control", "box", c.exec.Box, "exec", c.exec.ID, "message", msg.Type, "error", err)
		}
	}
}

func (c *session) obey(msg client.Message) error {
	ctx := c.req.Context()
	switch {
	case msg.Type == client.MsgSignal:
		return c.Engine.Signal(ctx, who(c.req), c.exec.Box, c.exec.ID, msg.Signal)
	case msg.Type == client.MsgResize && msg.Size != nil:
		return c.Engine.Resize(ctx, who(c.req), c.exec.Box, c.exec.ID, *msg.Size)
	}
	return fmt.Errorf("unknown message %q", msg.Type)
}

// finish waits for the exit and reports it. A daemon that stops hangs up
// without a word: the client then asks the next one, and the exec goes on.
func (c *session) finish(req client.ExecRequest) error {
	ctx, cancel := context.WithCancel(c.req.Context())
	defer cancel()
	type end struct {
		exec forkbox.Exec
		err  error
	}
	ended := make(chan end, 1)
	go func() {
		exec, err := c.Engine.Wait(ctx, who(c.req), c.exec.Box, c.exec.ID)
		ended <- end{exec, err}
	}()
	select {
	case e := <-ended:
		if e.err != nil {
			return e.err
		}
		return c.conn.Send(client.Message{Type: client.MsgExit, Exec: &e.exec, Stopped: req.Stop && c.stopBox()})
	case <-c.stopping:
	case <-c.gone:
		if req.OnDisconnect == client.KillOnDisconnect {
			c.abandon(c.req, c.exec.Box, c.exec.ID)
		}
	}
	return nil
}

// stopBox ends whatever the command left running. There is no grace: the
// command has ended, and a shell would not have waited either.
func (c *session) stopBox() bool {
	now := time.Duration(0)
	_, err := c.Engine.Stop(context.WithoutCancel(c.req.Context()), who(c.req), c.exec.Box, &now)
	return err == nil
}
