package client

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

// stream is an exec that is read and written over a WebSocket: this process relays
// between that and the caller's files. A connection that is lost is replaced, and
// the exec goes on where it was: what was not acknowledged is sent again.
type stream struct {
	session *Session
	op      string
	path    string // by which it is joined again
	again   api.StreamRequest
	out     [3]*sink
	in      *feeder
	quit    context.CancelFunc
	ctx     context.Context // ends when the caller wants no more of it

	mu sync.Mutex
	ws *websocket.Conn
}

// handsOver says whether open files can travel to the daemon.
func (c *Client) handsOver() bool { return !c.WebSocket && !c.remote && canHandOver }

// openStream starts or joins an exec, whose files the session relays from then on.
func (c *Client) openStream(ctx context.Context, op, path string, req api.StreamRequest, stdio forkbox.Stdio) (*Session, error) {
	if err := checkExtra(op, req, stdio); err != nil {
		return nil, err
	}
	s := &Session{client: c, onLoss: api.KeepOnDisconnect, ended: make(chan struct{}), making: req.Create != nil}
	t := &stream{session: s, op: op}
	t.ctx, t.quit = context.WithCancel(context.Background())
	s.stream = t
	if err := t.takeFiles(stdio, req.Exec == nil); err != nil {
		return nil, forkbox.Wrap(op, err)
	}
	req.Stdin, req.Merge = stdio.In != nil && req.Exec != nil, req.Exec != nil && sameFile(stdio.Out, stdio.Err)
	if req.Exec != nil {
		s.onLoss, t.again.Stop = req.Exec.OnDisconnect, req.Exec.Stop
	}
	ws, err := c.dialStream(ctx, op, path)
	if err == nil {
		t.ws = ws
		err = t.start(ctx, req)
	}
	if err != nil {
		t.release()
		if s.made.ID == "" {
			return nil, err
		}
		return s, err
	}
	return s, nil
}

// checkExtra refuses a command that names a pipe of its caller's shell: it does not
// reach a box over the network.
func checkExtra(op string, req api.StreamRequest, stdio forkbox.Stdio) error {
	if req.Exec == nil {
		return nil
	}
	for number := range stdio.Extra {
		name := "/dev/fd/" + strconv.Itoa(number)
		if slices.Contains(req.Exec.Argv, name) {
			return forkbox.Errorf(forkbox.Unsupported, op, "%s is a pipe of this machine, which does not reach the box", name).
				Hint("write what it has to a file, or pass it as stdin")
		}
	}
	return nil
}

// takeFiles duplicates the caller's files, which closes its own.
func (t *stream) takeFiles(stdio forkbox.Stdio, joins bool) error {
	for ch, f := range []*os.File{stdio.In, stdio.Out, stdio.Err} {
		if f == nil || ch == 2 && sameFile(stdio.Out, stdio.Err) {
			if ch > 0 {
				t.out[ch] = newSink(t, ch, nil)
			}
			continue
		}
		own, err := duplicate(f)
		if err != nil {
			t.release()
			return err
		}
		if ch == 0 {
			t.in = newFeeder(t, own, !joins || stdio.Last)
		} else {
			t.out[ch] = newSink(t, ch, own)
		}
	}
	return nil
}

func sameFile(a, b *os.File) bool {
	if a == nil || b == nil {
		return false
	}
	x, errA := a.Stat()
	y, errB := b.Stat()
	return a == b || errA == nil && errB == nil && os.SameFile(x, y)
}

// release lets go of the files.
func (t *stream) release() {
	t.quit()
	if t.in != nil {
		t.in.stop()
	}
	for _, s := range t.out {
		if s != nil {
			s.finish()
		}
	}
	if ws := t.current(); ws != nil {
		ws.CloseNow()
	}
}

func (c *link) dialStream(ctx context.Context, op, path string) (*websocket.Conn, error) {
	// The WebSocket's own request: its body is the connection, and ctx only of the
	// handshake.
	ws, resp, err := websocket.Dial(ctx, c.base+path, &websocket.DialOptions{HTTPClient: c.http, CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		if resp != nil && resp.StatusCode != http.StatusSwitchingProtocols && resp.Body != nil {
			return nil, refusal(op, resp)
		}
		return nil, lost(ctx, op, err)
	}
	ws.SetReadLimit(longestRefusal)
	return ws, nil
}

// start asks for the exec and hears whether it started.
func (t *stream) start(ctx context.Context, req api.StreamRequest) error {
	s := t.session
	stop := t.heed(ctx)
	err := t.sayTo(t.ws, req)
	var msg api.StreamMessage
	if err == nil {
		msg, err = t.hearFrom(t.ws)
	}
	stop()
	if msg.Made != nil {
		s.made = *msg.Made
	}
	if err == nil {
		err = startedOr(t.op, msg)
	}
	if err != nil {
		return lost(ctx, t.op, err)
	}
	s.exec = *msg.Exec
	t.again.Key = msg.Key
	t.path = api.JoinExec.URL(nil, s.exec.Box, s.exec.ID)
	t.out[1].seen, t.out[2].seen = msg.At.Stdout, msg.At.Stderr
	t.begin(msg.At.Stdin)
	return nil
}

func startedOr(op string, msg api.StreamMessage) error {
	switch {
	case msg.Error != nil:
		return msg.Error
	case msg.Type != api.MsgStarted || msg.Exec == nil || msg.At == nil:
		return forkbox.Errorf(forkbox.Internal, op, "the daemon answered %q", msg.Type)
	}
	return nil
}

// begin starts what moves bytes.
func (t *stream) begin(stdin int64) {
	for _, s := range t.out[1:] {
		go s.run()
	}
	if t.in != nil {
		t.in.begin(stdin)
		go t.in.run()
	}
	go t.run()
}

// heed hangs up when ctx ends before the answer came; where the answer has to be
// heard, it asks for it instead.
func (t *stream) heed(ctx context.Context) (stop func()) {
	undo := context.AfterFunc(ctx, func() {
		if t.session.making {
			t.sayTo(t.ws, api.StreamMessage{Type: api.MsgGiveUp})
		} else {
			t.ws.CloseNow()
		}
	})
	return func() { undo() }
}

func (t *stream) sayTo(ws *websocket.Conn, doc any) error {
	text, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	return ws.Write(t.ctx, websocket.MessageText, text)
}

// say sends a message on the connection that there is. What is lost with it is
// said again, in other words, to the next.
func (t *stream) say(msg api.StreamMessage) error { return t.sayTo(t.current(), msg) }

func (t *stream) current() *websocket.Conn {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ws
}

// hearFrom reads the next message that is not data.
func (t *stream) hearFrom(ws *websocket.Conn) (msg api.StreamMessage, err error) {
	for {
		kind, body, err := ws.Read(t.ctx)
		if err != nil {
			return msg, err
		}
		if kind == websocket.MessageBinary {
			if !t.deliver(body) {
				return msg, errors.New("it sent what is no output")
			}
			continue
		}
		return msg, json.Unmarshal(body, &msg)
	}
}

// deliver takes a piece of output.
func (t *stream) deliver(p []byte) bool {
	if len(p) == 0 || p[0] == 0 || int(p[0]) >= len(t.out) {
		return false
	}
	return t.out[p[0]].take(p[1:])
}

// run receives until the exit, over as many connections as it takes.
func (t *stream) run() {
	s := t.session
	defer close(s.ended)
	defer t.release()
	for {
		over := t.receive(t.current())
		if over || t.ctx.Err() != nil {
			return
		}
		if err := t.reconnect(); err != nil {
			if t.ctx.Err() == nil && forkbox.CodeOf(err) != forkbox.Unavailable {
				s.fault = err
			}
			return
		}
	}
}

// receive obeys the daemon until the exit, or the loss of the connection.
func (t *stream) receive(ws *websocket.Conn) (over bool) {
	alive, cancel := context.WithCancel(t.ctx)
	defer cancel()
	go ping(alive, ws)
	s := t.session
	for {
		msg, err := t.hearFrom(ws)
		if err != nil {
			ws.CloseNow()
			return false
		}
		switch {
		case msg.Type == api.MsgExit && msg.Exec != nil:
			s.exit, s.stopped = msg.Exec, msg.Stopped
			ws.Close(websocket.StatusNormalClosure, "")
			return true
		case msg.Type == api.MsgError && msg.Error != nil:
			s.fault = msg.Error
			return true
		case msg.Type == api.MsgAck && msg.At != nil && t.in != nil:
			t.in.acknowledged(msg.At.Stdin)
		case msg.Type == api.MsgNoStdin && t.in != nil:
			t.in.stop()
		case msg.Type == api.MsgGap && msg.At != nil:
			t.out[1].skipTo(msg.At.Stdout)
			t.out[2].skipTo(msg.At.Stderr)
			t.note(msg.Text)
		case msg.Type == api.MsgNote:
			t.note(msg.Text)
		}
	}
}

func (t *stream) note(text string) {
	if t.session.client.Note != nil {
		t.session.client.Note(text)
	}
}

// pingEvery finds out that a daemon has vanished of which the network says nothing.
const pingEvery = 20 * time.Second

func ping(ctx context.Context, ws *websocket.Conn) {
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		wait, cancel := context.WithTimeout(ctx, pingEvery)
		err := ws.Ping(wait)
		cancel()
		if err != nil {
			ws.CloseNow()
			return
		}
	}
}

// reconnect goes on with the exec on another connection, through the next daemon
// where this one has gone.
func (t *stream) reconnect() error {
	return persist(t.ctx, func() bool { return t.ctx.Err() != nil }, func() error {
		ws, err := t.session.client.dialStream(t.ctx, t.op, t.path)
		if err != nil {
			return err
		}
		if err = t.resume(ws); err != nil {
			ws.CloseNow()
		}
		return lost(t.ctx, t.op, err)
	})
}

func (t *stream) resume(ws *websocket.Conn) error {
	req := t.again
	req.Seen = &forkbox.StreamAt{Stdout: t.out[1].offset(), Stderr: t.out[2].offset()}
	if err := t.sayTo(ws, req); err != nil {
		return err
	}
	msg, err := t.hearFrom(ws)
	if err == nil {
		err = startedOr(t.op, msg)
	}
	if err != nil {
		return err
	}
	if t.in != nil {
		return t.in.resume(ws, msg.At.Stdin)
	}
	t.use(ws)
	return nil
}

func (t *stream) use(ws *websocket.Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ws = ws
}

// close leaves the exec, if it still runs.
func (t *stream) close() error {
	select {
	case <-t.session.ended:
		return nil
	default:
	}
	t.say(api.StreamMessage{Type: api.MsgLeave})
	t.current().Close(websocket.StatusNormalClosure, "")
	t.quit()
	<-t.session.ended
	return nil
}
