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
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/internal/wire"
)

// session is a caller that is attached, after the upgrade, to one exec after
// another.
type session struct {
	execCaller
	conn  *wire.Conn
	turns chan turn // the execs that the caller asks for after the first
}

// turn is an exec that a caller asks for.
type turn struct {
	box   string
	made  *api.CreateRequest // make a box for it
	join  string             // the exec to join instead of starting one
	last  bool               // its stdin ends with the caller's
	req   api.ExecRequest
	first api.Message
	files []*os.File
}

// idleTurn is how long a caller may take between two execs. It can upgrade
// another connection afterwards.
const idleTurn = 30 * time.Second

// attach upgrades the connection and stays until the caller hangs up or the
// daemon stops.
func (s *Server) attach(w http.ResponseWriter, r *http.Request, t turn) error {
	if connOf(r).outside {
		return forkbox.Errorf(forkbox.Invalid, "attach to a command", "only the unix socket carries open files")
	}
	callOf(r).turns = true
	conn, err := upgrade(w)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(r.Context(), func() { conn.Close() })() // the right to it has ended
	c := &session{execCaller: newExecCaller(s, r), conn: wire.New(conn), turns: make(chan turn, 1)}
	if err := c.first(&t); err != nil {
		c.conn.Send(api.Message{Type: api.MsgError, Error: toError(err)})
		return err
	}
	go c.listen()
	if err := c.start(t); err != nil {
		return err
	}
	for ok := true; ok; t, ok = c.next() {
		if err := c.finish(t.req); errors.Is(err, errHungUp) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return nil
}

// first is the exec that the upgrade asked for. Its files follow.
func (c *session) first(t *turn) (err error) {
	c.conn.Unix().SetReadDeadline(time.Now().Add(handoverTime))
	defer c.conn.Unix().SetReadDeadline(time.Time{})
	if t.files, err = c.conn.Recv(&t.first); err != nil {
		return forkbox.Errorf(forkbox.Invalid, "take over the files", "%w", err)
	}
	return nil
}

// next starts the exec that the caller asks for next.
func (c *session) next() (turn, bool) {
	for {
		select {
		case t := <-c.turns:
			if c.start(t) == nil {
				return t, true
			}
		case <-c.gone:
			return turn{}, false
		case <-c.stopping:
			return turn{}, false
		case <-time.After(idleTurn):
			return turn{}, false
		}
	}
}

func closeFiles(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
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
	_, err = fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", api.Protocol)
	if err != nil {
		conn.Close()
		return nil, err
	}
	return unix, nil
}

// handoverTime is how long a caller gets to hand over its files.
const handoverTime = 10 * time.Second

// start starts the exec and tells the caller how that went.
func (c *session) start(t turn) error {
	answer := api.Message{Type: api.MsgStarted}
	exec, err := c.startTurn(t, &answer)
	c.enter(t, answer.Made, err)
	if err != nil {
		answer.Type, answer.Error = api.MsgError, toError(err)
		c.conn.Send(answer)
		return err
	}
	c.runs(exec)
	answer.Exec = &exec
	c.conn.Send(answer)
	return nil
}

// enter has the audit trail know of what a caller asked for.
func (c *session) enter(t turn, made *forkbox.Box, err error) {
	switch {
	case made != nil:
		c.enterTurn(c.req, api.RunCommand.Name, made.Name, made.ID, err)
	case t.made != nil:
		c.enterTurn(c.req, api.RunCommand.Name, "", "", err)
	case t.join != "":
		c.enterTurn(c.req, api.AttachExec.Name, t.box+"@"+t.join, "", err)
	default:
		c.enterTurn(c.req, api.StartExec.Name, t.box, "", err)
	}
}

// toStdio puts the files that came where the message says they belong.
func toStdio(msg api.Message, files []*os.File) (stdio forkbox.Stdio, err error) {
	const op = "take over the files"
	wanted := len(msg.Extra)
	for _, have := range msg.Have {
		if have {
			wanted++
		}
	}
	switch {
	case msg.Type != api.MsgStdio && msg.Type != api.MsgExec, len(msg.Have) > 3, wanted != len(files), !validExtra(msg.Extra):
		err = forkbox.Errorf(forkbox.Invalid, op, "the first message must be stdio with its files")
	case !onlyPipes(files):
		err = forkbox.Errorf(forkbox.Invalid, op, "only pipes and sockets may be handed into a box").
			Hint("relay a file or terminal through a pipe: a box could reopen it for writing")
	}
	if err != nil {
		closeFiles(files)
		return forkbox.Stdio{}, err
	}
	return place(msg, files), nil
}

func place(msg api.Message, files []*os.File) (stdio forkbox.Stdio) {
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
		var msg api.Message
		files, err := c.conn.Recv(&msg)
		if err != nil {
			return
		}
		if msg.Type == api.MsgExec && msg.Request != nil {
			select {
			case c.turns <- turn{box: msg.Box, made: msg.Create, req: *msg.Request, first: msg, files: files}:
				continue
			default: // it has one waiting already: not a caller of ours
				closeFiles(files)
				return
			}
		}
		closeFiles(files)
		if err := c.obey(msg.Type, msg.Signal, msg.Size); err != nil {
			c.tellMistake(msg.Type, err, func(text string) { c.conn.Send(api.Message{Type: api.MsgNote, Text: text}) })
		}
	}
}

// finish waits for the exit and reports it. A daemon that stops hangs up
// without a word: the client then asks the next one, and the exec goes on.
func (c *session) finish(req api.ExecRequest) error {
	ctx, cancel := context.WithCancel(c.req.Context())
	defer cancel()
	type end struct {
		exec forkbox.Exec
		err  error
	}
	running := c.running()
	ended := make(chan end, 1)
	go func() {
		exec, err := c.Engine.Wait(ctx, who(c.req), running.Box, running.ID)
		ended <- end{exec, err}
	}()
	go c.tellPauses(ctx, running.Box, func(text string) { c.conn.Send(api.Message{Type: api.MsgNote, Text: text}) })
	select {
	case e := <-ended:
		if e.err != nil {
			return e.err
		}
		return c.conn.Send(api.Message{Type: api.MsgExit, Exec: &e.exec, Stopped: req.Stop && c.stopBox(running.Box)})
	case <-c.stopping:
	case <-c.gone:
		if req.OnDisconnect == api.KillOnDisconnect {
			c.abandon(c.req, running.Box, running.ID)
		}
	}
	return errHungUp
}

// errHungUp ends a session whose caller or daemon goes away; it is not sent.
var errHungUp = errors.New("the connection was closed")

// stdinFile is a pipe that holds what a detached exec is to read; nil for
// nothing. A pipe, not a temporary file: the box must hold no file of reality.
func stdinFile(text []byte) (*os.File, error) {
	if len(text) == 0 {
		return nil, nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	go func() {
		w.Write(text) // ends early when the exec does: the reader is gone
		w.Close()
	}()
	return r, nil
}
