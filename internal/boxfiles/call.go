package boxfiles

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
)

// Call is one request to an agent.
type Call struct {
	conn   net.Conn
	frames *Frames
	op     string
	stop   func() bool
	ctx    context.Context
}

// patience is how long an agent may be silent. It says that it lives far more often.
const (
	patience = 30 * time.Second
	// Heartbeat is how often an agent says that it lives.
	Heartbeat = 5 * time.Second
)

// Begin asks for something. It owns conn, which it closes when ctx ends or the
// call is closed. op is for errors: "read /etc/hosts".
func Begin(ctx context.Context, conn net.Conn, op string, req Request) (*Call, error) {
	c := &Call{conn: conn, frames: NewFrames(conn), op: op, ctx: ctx}
	c.stop = context.AfterFunc(ctx, func() { conn.Close() })
	if err := c.say(req); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// Close ends the call, whatever the agent is at.
func (c *Call) Close() error {
	c.stop()
	return c.conn.Close()
}

func (c *Call) say(doc any) error {
	_ = c.conn.SetWriteDeadline(time.Now().Add(patience))
	// A body may take as long as it likes: that the agent lives is heard from it.
	defer c.conn.SetWriteDeadline(time.Time{})
	return c.lost(c.frames.Say(Message, doc))
}

// next is the next frame that says something. An [End] that tells of an error is that error.
func (c *Call) next() (Kind, []byte, error) {
	for {
		_ = c.conn.SetReadDeadline(time.Now().Add(patience))
		kind, body, err := c.frames.Next()
		switch {
		case err != nil:
			return 0, nil, c.lost(err)
		case kind == Alive:
			continue
		case kind == End:
			return kind, body, c.outcomeError(body)
		}
		return kind, body, nil
	}
}

// lost is the error of an agent that is gone, or not what it should be.
func (c *Call) lost(err error) error {
	var timeout net.Error
	switch {
	case err == nil:
		return nil
	case c.ctx.Err() != nil:
		return forkbox.Errorf(forkbox.TimedOut, c.op, "it was given up: %w", c.ctx.Err())
	case errors.As(err, &timeout) && timeout.Timeout():
		return forkbox.Errorf(forkbox.TimedOut, c.op, "the box does not answer").
			Hint("it may be paused, or busy: forkbox show BOX")
	}
	return forkbox.Errorf(forkbox.Busy, c.op, "what reads and writes files in the box has ended: %w", noEOF(err)).
		Hint("the box was stopped, met its limit of memory, or a process in it killed it; try again")
}

// told are the codes that an agent may give an error; others are the daemon's own.
var told = map[forkbox.Code]bool{
	forkbox.Invalid: true, forkbox.NotFound: true, forkbox.Exists: true, forkbox.Busy: true, forkbox.Conflict: true,
	forkbox.Denied: true, forkbox.Unsupported: true, forkbox.Internal: true,
}

// longestWhy bounds what an agent says of an error.
const longestWhy = 1024

// outcomeError is the error that an end tells of. The operation is named by the daemon,
// and the words of the agent are cut and cleaned.
func (c *Call) outcomeError(body []byte) error {
	var out Outcome
	if err := json.Unmarshal(body, &out); err != nil {
		return c.lost(errors.New("it said what makes no sense"))
	}
	e := out.Error
	if e == nil {
		return nil
	}
	code := e.Code
	if !told[code] {
		code = forkbox.Internal
	}
	clean := forkbox.Errorf(code, c.op, "%s", tidy(e.Why))
	for _, hint := range e.Hints[:min(len(e.Hints), 2)] {
		clean.Hint("%s", tidy(hint))
	}
	return clean
}

func tidy(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), longestWhy)], "?")
}

// info waits for the message that describes what was asked for.
func (c *Call) info() (Info, error) {
	var info Info
	kind, body, err := c.next()
	if err == nil && kind != Message {
		err = c.lost(errors.New("it said something else than was asked for"))
	}
	if err == nil {
		err = c.decode(body, &info)
	}
	if err == nil && info.Size < 0 {
		err = c.lost(errors.New("it said that a file has less than nothing"))
	}
	return info, err
}

func (c *Call) decode(body []byte, into any) error {
	if err := json.Unmarshal(body, into); err != nil {
		return c.lost(errors.New("it said what makes no sense"))
	}
	return nil
}

// Finish waits for the end of a request that has no more to say.
func (c *Call) Finish() (Outcome, error) {
	for {
		kind, body, err := c.next()
		if err != nil {
			return Outcome{}, err
		}
		if kind == End {
			var out Outcome
			err := c.decode(body, &out)
			return out, err
		}
	}
}

// copyTo writes the data that comes, up to the end of it.
func (c *Call) copyTo(w io.Writer) (out Outcome, err error) {
	for {
		kind, body, err := c.next()
		switch {
		case err != nil:
			return out, err
		case kind == End:
			err := c.decode(body, &out)
			return out, err
		case kind == Data:
			if _, err := w.Write(body); err != nil {
				return out, err
			}
		}
	}
}

// CheckPath refuses what can be no path of a box, and makes it absolute: a
// relative one begins in dir.
func CheckPath(op, path, dir string) ([]byte, error) {
	switch {
	case path == "":
		return nil, forkbox.Errorf(forkbox.Invalid, op, "no path was given").Hint("name one: path=/etc/hosts")
	case strings.IndexByte(path, 0) >= 0:
		return nil, forkbox.Errorf(forkbox.Invalid, op, "the path has a zero byte")
	}
	whole := []byte(path)
	if path[0] != '/' {
		whole = append(append(bytes.TrimRight([]byte(dir), "/"), '/'), path...)
	}
	if len(whole) >= MaxPath {
		return nil, forkbox.Errorf(forkbox.Invalid, op, "the path is longer than %d bytes", MaxPath)
	}
	return whole, nil
}
