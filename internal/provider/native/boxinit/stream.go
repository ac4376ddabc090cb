//go:build linux

package boxinit

import (
	"io"
	"net"
	"os"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/execlog"
	"github.com/forkbox/forkbox/internal/execstream"
	"github.com/forkbox/forkbox/internal/wire"
)

// stream gives an exec a reader over a link.
func (p *pid1) stream(req Request, files []*os.File) (at *forkbox.StreamAt, err error) {
	defer wire.CloseAll(files...)
	if len(files) != 1 || req.Join == nil {
		return nil, forkbox.Errorf(forkbox.Invalid, "attach to exec "+req.ID, "there is no link")
	}
	err = p.with(req.ID, func(c *child) error {
		conn, err := net.FileConn(files[0])
		if err != nil {
			return err
		}
		at, err = c.join(conn, *req.Join)
		return err
	})
	return at, err
}

// keepFor keeps what the exec writes for the reader who started it.
func (c *child) keepFor(spec forkbox.StreamSpec) {
	gone := func() {
		if spec.Kill {
			c.abandon()
		}
	}
	c.source = execstream.NewSource(c, spec, c.keyboard(spec.Stdin), c.hangUp, gone)
}

// abandon ends the exec: its reader has not come back.
func (c *child) abandon() {
	select {
	case <-c.end:
		return
	default:
	}
	c.mu.Lock()
	c.why = "who waited for it is gone"
	c.mu.Unlock()
	_ = c.kill(0, forkbox.CauseStopped)
}

// keyboard is where a reader writes what the exec reads; nil for nowhere.
func (c *child) keyboard(wanted bool) io.Writer {
	switch {
	case !wanted:
	case c.tty != nil:
		return c.tty
	case c.stdin != nil:
		return c.stdin
	}
	return nil
}

// hangUp is the end of stdin. A terminal has none: its user types it.
func (c *child) hangUp() {
	if c.tty == nil {
		c.stdin.Close()
	}
}

// join has a reader take up its stream, or join an exec that no other caller
// has.
func (c *child) join(conn net.Conn, j forkbox.StreamJoin) (*forkbox.StreamAt, error) {
	c.streaming.Lock()
	defer c.streaming.Unlock()
	source := c.reader()
	if source == nil || !source.BelongsTo(j.Key) || source.Joined() && source.Over() {
		if c.belongs(source) {
			conn.Close()
			return nil, forkbox.Errorf(forkbox.Busy, "attach to exec "+c.id, "another client started it, and reads it").
				Hint("see what it writes: forkbox logs -f BOX %s", c.id)
		}
		if source != nil {
			source.Replace()
		}
		source = execstream.JoinSource(c, forkbox.StreamSpec{Key: j.Key, Grace: j.Grace}, c.keyboard(true), c.hangUp, nil)
		c.mu.Lock()
		c.source = source
		c.mu.Unlock()
	}
	at, err := source.Attach(conn, j.Seen)
	return &at, err
}

func (c *child) reader() *execstream.Source {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.source
}

// belongs says whether the caller who started the exec still has it.
func (c *child) belongs(source *execstream.Source) bool {
	for _, r := range c.out {
		if r.to != nil {
			return true
		}
	}
	return source != nil && !source.Joined() && !source.Over()
}

// Tap is for [execstream.Exec].
func (c *child) Tap(ch execstream.Channel) *execstream.Window {
	r := c.relayOf(ch)
	if r == nil {
		return nil
	}
	r.passing.Lock()
	defer r.passing.Unlock()
	w := execstream.NewWindow(r.total, execstream.OutputWindow)
	r.window.Store(w)
	return w
}

// Untap is for [execstream.Exec].
func (c *child) Untap(ch execstream.Channel) {
	if r := c.relayOf(ch); r != nil {
		r.window.Store(nil)
	}
}

func (c *child) relayOf(ch execstream.Channel) *relay {
	want := execlog.Stdout
	if ch == execstream.Stderr {
		want = execlog.Stderr
	}
	for _, r := range c.out {
		if r.stream == want {
			return r
		}
	}
	return nil
}

// killedDrain is how long a killed exec's caller gets to read its last output.
const killedDrain = 500 * time.Millisecond

// patience waits for the caller of an exec that has ended to read its output. One
// whose exec must end is not waited for long: it may never read.
type patience struct {
	hasty <-chan struct{}
	until time.Time // set when hasty is closed
}

func (p *patience) await(ready <-chan struct{}) {
	select {
	case <-ready:
		return
	case <-p.hasty:
	}
	if p.until.IsZero() {
		p.until = time.Now().Add(killedDrain)
	}
	select {
	case <-ready:
	case <-time.After(time.Until(p.until)):
	}
}

// hurry says that the exec must end. It can be repeated.
func (c *child) hurry() { c.once.Do(func() { close(c.hasty) }) }
