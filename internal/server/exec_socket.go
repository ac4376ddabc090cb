package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/internal/access"
	"github.com/forkbox/forkbox/internal/execstream"
	"github.com/forkbox/forkbox/internal/strictjson"
)

// socketStream is a caller who reads and writes an exec over a WebSocket.
type socketStream struct {
	readout
	ws       *websocket.Conn
	seen     forkbox.StreamAt // by the caller, when it came
	linked   chan struct{}    // closed when the link is there
	received chan struct{}    // closed when all output has come over the link, and was passed on
	left     atomic.Bool      // the caller does not come back
}

func (s execRoutes) streamRun(w http.ResponseWriter, r *http.Request, _ api.None) error {
	return s.stream(w, r, func(c *socketStream, req api.StreamRequest) (*forkbox.Box, error) {
		if req.Create == nil || req.Exec == nil || req.Key != "" || req.Seen != nil || req.Stop {
			return nil, forkbox.Errorf(forkbox.Invalid, "run a command in a new box", "the first message must have create and exec")
		}
		return c.start("", req)
	})
}

func (s execRoutes) streamExec(w http.ResponseWriter, r *http.Request, _ api.None) error {
	return s.stream(w, r, func(c *socketStream, req api.StreamRequest) (*forkbox.Box, error) {
		if req.Create != nil || req.Exec == nil || req.Key != "" || req.Seen != nil || req.Stop {
			return nil, forkbox.Errorf(forkbox.Invalid, "run a command", "the first message must have exec, and what it reads")
		}
		return c.start(r.PathValue("box"), req)
	})
}

func (s execRoutes) joinExec(w http.ResponseWriter, r *http.Request, _ api.None) error {
	id := r.PathValue("exec")
	return s.stream(w, r, func(c *socketStream, req api.StreamRequest) (*forkbox.Box, error) {
		if req.Create != nil || req.Exec != nil || req.Merge {
			return nil, forkbox.Errorf(forkbox.Invalid, "attach to exec "+id, "the first message must have key and seen, or nothing")
		}
		return nil, c.join(r.PathValue("box"), id, req)
	})
}

// stream upgrades the connection, has open start or find the exec that the first
// message asks for, and stays with it.
func (s execRoutes) stream(w http.ResponseWriter, r *http.Request, open func(*socketStream, api.StreamRequest) (*forkbox.Box, error)) error {
	// Compressing would cost more than it saves where the other end is near.
	ws, err := websocket.Accept(&mute{answerWriter: w.(*answerWriter)}, r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		return forkbox.Errorf(forkbox.Invalid, "upgrade the connection", "%w", err).
			Hint("this route is a WebSocket; a plain POST to the execs of a box can have the output as its answer: ?stream=lines")
	}
	defer ws.CloseNow()
	c := &socketStream{
		readout: readout{execCaller: newExecCaller(s.Server, r)}, ws: ws,
		linked: make(chan struct{}), received: make(chan struct{}),
	}
	defer context.AfterFunc(r.Context(), c.endRight)()
	callOf(r).turns = true // what it asks for comes with its first message
	req, err := c.first()
	if err != nil {
		c.record(nil, err)
		c.say(api.StreamMessage{Type: api.MsgError, Error: toError(err)})
		return err
	}
	go c.listen()
	made, err := open(c, req)
	c.record(made, err)
	if err != nil {
		c.say(api.StreamMessage{Type: api.MsgError, Made: made, Error: toError(err)})
		return err
	}
	return c.run(made, req)
}

// record has the audit trail know of what the caller asked for.
func (c *socketStream) record(made *forkbox.Box, err error) {
	name, target, box := api.StreamExec.Name, c.req.PathValue("box"), ""
	switch {
	case c.req.PathValue("exec") != "":
		name, target = api.JoinExec.Name, target+"@"+c.req.PathValue("exec")
	case target == "":
		name = api.StreamRun.Name
	}
	if made != nil {
		target, box = made.Name, made.ID
	}
	c.enterTurn(c.req, name, target, box, err)
}

// first reads what the caller asks for.
func (c *socketStream) first() (req api.StreamRequest, err error) {
	ctx, cancel := context.WithTimeout(c.unhurried(), handoverTime)
	defer cancel()
	c.ws.SetReadLimit(maxBody)
	kind, text, err := c.ws.Read(ctx)
	if err != nil {
		return req, badRequest(err)
	}
	c.ws.SetReadLimit(api.StreamChunk + 1)
	if kind != websocket.MessageText {
		return req, badRequest(errors.New("the first message is not text"))
	}
	if err := badRequest(strictjson.Decode(bytes.NewReader(text), &req)); err != nil {
		return req, err
	}
	return req, checkStream(req)
}

func checkStream(req api.StreamRequest) error {
	const op = "stream a command"
	switch {
	case req.Grace != nil && (*req.Grace < 0 || *req.Grace > api.LongestStreamGrace):
		return forkbox.Errorf(forkbox.Invalid, op, "grace_ns is not between 0 and %s", api.LongestStreamGrace)
	case req.Seen != nil && (req.Seen.Stdin < 0 || req.Seen.Stdout < 0 || req.Seen.Stderr < 0):
		return forkbox.Errorf(forkbox.Invalid, op, "what was seen is less than nothing")
	case req.Exec != nil && (len(req.Exec.Stdin) > 0 || req.Exec.Open):
		return forkbox.Errorf(forkbox.Invalid, op, "what it reads comes over the stream")
	}
	return nil
}

// run passes everything on until the command ends or the caller has gone.
func (c *socketStream) run(made *forkbox.Box, req api.StreamRequest) error {
	defer func() { c.close(c.left.Load()) }()
	exec := c.running()
	c.seen = c.at
	if req.Seen != nil || c.done != nil && req.Exec != nil {
		c.seen = forkbox.StreamAt{Stdin: c.at.Stdin}
		if req.Seen != nil {
			c.seen.Stdout, c.seen.Stderr = req.Seen.Stdout, req.Seen.Stderr
		}
	}
	close(c.linked) // before the caller hears of it: what it sends then must find the link
	c.say(api.StreamMessage{Type: api.MsgStarted, Exec: &exec, Made: made, Key: c.key, At: &c.seen})
	ctx, cancel := context.WithCancel(c.unhurried())
	defer cancel()
	go c.forward(ctx)
	go c.tellPauses(ctx, exec.Box, func(text string) { c.say(api.StreamMessage{Type: api.MsgNote, Text: text}) })
	go c.ping(ctx)
	ended, stopped, err := c.exit(c.received)
	switch {
	case errors.Is(err, errHungUp):
		c.ws.Close(websocket.StatusServiceRestart, "the daemon is stopping")
		return nil
	case err != nil:
		c.say(api.StreamMessage{Type: api.MsgError, Error: toError(err)})
		return err
	}
	c.say(api.StreamMessage{Type: api.MsgExit, Exec: &ended, Stopped: stopped})
	c.ws.Close(websocket.StatusNormalClosure, "")
	return nil
}

// pingEvery finds out that a caller has vanished of whom the network says nothing.
const pingEvery = 20 * time.Second

func (c *socketStream) ping(ctx context.Context) {
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		wait, cancel := context.WithTimeout(ctx, 2*pingEvery)
		err := c.ws.Ping(wait)
		cancel()
		if err != nil {
			c.ws.CloseNow()
			return
		}
	}
}

// say sends a message. Whether it arrives is found out by who listens.
func (c *socketStream) say(msg api.StreamMessage) {
	text, err := json.Marshal(msg)
	if err == nil {
		c.ws.Write(c.unhurried(), websocket.MessageText, text)
	}
}

// data sends a piece of output.
func (c *socketStream) data(ch execstream.Channel, p []byte) error {
	buf := make([]byte, 0, 1+api.StreamChunk)
	for len(p) > 0 {
		n := min(len(p), api.StreamChunk)
		buf = append(append(buf[:0], byte(ch)), p[:n]...)
		if err := c.ws.Write(c.unhurried(), websocket.MessageBinary, buf); err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}

// forward passes on what the log has and then what comes over the link. It waits
// for a caller who does not read, and no longer than until that one is found to
// have vanished.
func (c *socketStream) forward(ctx context.Context) {
	defer close(c.received)
	missing, err := c.catchUp(c.seen, c.data)
	if err != nil {
		c.say(api.StreamMessage{Type: api.MsgNote, Text: toError(err).Error()})
	}
	if missing != nil {
		c.say(api.StreamMessage{Type: api.MsgGap, At: &missing.at, Text: missing.text})
	}
	if c.link == nil {
		return
	}
	for {
		f, err := c.link.Receive()
		if err != nil {
			go c.doubt(ctx)
			return
		}
		switch f.Kind {
		case execstream.Data1, execstream.Data2:
			if c.data(execstream.Channel(f.Kind), f.Data) != nil {
				return
			}
		case execstream.Ack:
			c.say(api.StreamMessage{Type: api.MsgAck, At: &forkbox.StreamAt{Stdin: f.Offset}})
		case execstream.Broken:
			c.say(api.StreamMessage{Type: api.MsgNoStdin})
		case execstream.Ousted:
			c.say(api.StreamMessage{Type: api.MsgError, Error: forkbox.Errorf(forkbox.Busy, "stay attached to exec "+c.running().ID, "another client has attached to it")})
			c.ws.Close(websocket.StatusPolicyViolation, "another client has attached")
			return
		case execstream.End:
			return
		}
	}
}

// doubt is for a link that was lost. Most often so is the box, and the exit is on
// its way; otherwise the caller comes back, over another.
func (c *socketStream) doubt(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(linkDoubt):
		c.ws.CloseNow()
	}
}

// linkDoubt is how long the exit may take to come after the end of a link.
const linkDoubt = 2 * time.Second

// listen obeys the caller until it hangs up.
func (c *socketStream) listen() {
	defer close(c.gone)
	for {
		kind, text, err := c.ws.Read(c.unhurried())
		if err != nil {
			c.left.Store(c.left.Load() || websocket.CloseStatus(err) == websocket.StatusNormalClosure)
			return
		}
		if kind == websocket.MessageBinary {
			if !c.stdin(text) {
				c.refuse("that was no data of stdin", forkbox.Errorf(forkbox.Invalid, "read a message", "it is no data of stdin for a command that has started").
					Hint("the first byte is 0, and started comes before it"))
				return
			}
			continue
		}
		var msg api.StreamMessage
		if err := badRequest(strictjson.Decode(bytes.NewReader(text), &msg)); err != nil {
			c.refuse("that was no message", err)
			return
		}
		if err := c.hear(msg); err != nil {
			c.tellMistake(msg.Type, err, func(text string) { c.say(api.StreamMessage{Type: api.MsgNote, Text: text}) })
		}
	}
}

// endRight hangs up on a caller who has lost the right to be here. It may come back with
// another.
func (c *socketStream) endRight() {
	ctx, cancel := context.WithTimeout(c.unhurried(), linkDoubt)
	defer cancel()
	if ended := access.Ended(c.req.Context()); ended != nil {
		text, _ := json.Marshal(api.StreamMessage{Type: api.MsgError, Error: toError(ended)})
		_ = c.ws.Write(ctx, websocket.MessageText, text)
	}
	c.ws.CloseNow()
}

// refuse tells the caller why it is not listened to any longer, and hangs up.
func (c *socketStream) refuse(reason string, err error) {
	c.say(api.StreamMessage{Type: api.MsgError, Error: toError(err)})
	c.ws.Close(websocket.StatusPolicyViolation, reason)
}

// linkTo is the link, once the command has started.
func (c *socketStream) linkTo() *execstream.Link {
	select {
	case <-c.linked:
		return c.link
	default:
		return nil
	}
}

// stdin passes on what the caller writes. What comes before the command has
// started is a mistake; what comes after it has ended is dropped.
func (c *socketStream) stdin(p []byte) bool {
	if len(p) == 0 || execstream.Channel(p[0]) != execstream.Stdin {
		return false
	}
	select {
	case <-c.linked:
	default:
		return false
	}
	if c.link != nil {
		c.link.SendData(execstream.Stdin, p[1:])
	}
	return true
}

func (c *socketStream) hear(msg api.StreamMessage) error {
	link := c.linkTo()
	switch msg.Type {
	case api.MsgLeave:
		c.left.Store(true)
	case api.MsgAck:
		if link == nil || msg.At == nil {
			return nil
		}
		for ch, offset := range map[execstream.Channel]int64{execstream.Stdout: msg.At.Stdout, execstream.Stderr: msg.At.Stderr} {
			if offset > 0 {
				link.Send(execstream.Frame{Kind: execstream.Ack, Channel: ch, Offset: offset})
			}
		}
	case api.MsgCloseOutput:
		ch, known := map[string]execstream.Channel{"stdout": execstream.Stdout, "stderr": execstream.Stderr}[msg.Stream]
		if link != nil && known {
			return link.Send(execstream.Frame{Kind: execstream.Refuse, Channel: ch})
		}
	case api.MsgCloseStdin:
		if link != nil {
			return link.Send(execstream.Frame{Kind: execstream.EOF})
		}
	default:
		return c.obey(msg.Type, msg.Signal, msg.Size)
	}
	return nil
}
