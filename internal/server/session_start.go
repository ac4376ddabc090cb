package server

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

// execCaller is a caller who has a command started and stays with it, whatever
// the connection is.
type execCaller struct {
	*Server
	req  *http.Request
	gone chan struct{} // closed when the caller hung up

	mu      *sync.Mutex
	exec    forkbox.Exec  // the one that runs
	givenUp chan struct{} // closed when the caller wants the one that starts no more
}

func newExecCaller(s *Server, r *http.Request) execCaller {
	return execCaller{Server: s, req: r, gone: make(chan struct{}), mu: new(sync.Mutex)}
}

func (c *execCaller) runs(exec forkbox.Exec) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.exec = exec
}

func (c *execCaller) running() forkbox.Exec {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.exec
}

// obey does what a caller asks for while its command runs, or starts.
func (c *execCaller) obey(kind string, signal int, size *forkbox.Size) error {
	ctx, exec := c.req.Context(), c.running()
	switch {
	case kind == api.MsgGiveUp:
		c.giveUp()
		return nil
	case kind == api.MsgSignal:
		if err := checkSignal("signal exec "+exec.ID, signal); err != nil {
			return err
		}
		return c.Engine.Signal(ctx, who(c.req), exec.Box, exec.ID, signal)
	case kind == api.MsgResize && size != nil:
		return c.Engine.Resize(ctx, who(c.req), exec.Box, exec.ID, *size)
	}
	return forkbox.Errorf(forkbox.Invalid, "obey", "there is no message %q here, or something is missing in it", kind)
}

// tellMistake tells a caller of a message that cannot be obeyed, whenever it comes.
// That it came too late, for a command that has ended, is no mistake.
func (c *execCaller) tellMistake(message string, err error, tell func(text string)) {
	c.Log.DebugContext(c.req.Context(), "exec control", "message", message, "error", err)
	if forkbox.CodeOf(err) == forkbox.Invalid {
		tell(toError(err).Error())
	}
}

// startTurn starts what a caller asks for, or joins it. The box that was made
// for it is in the answer also when the rest failed.
func (c *session) startTurn(t turn, answer *api.Message) (forkbox.Exec, error) {
	stdio, err := toStdio(t.first, t.files)
	if err != nil {
		return forkbox.Exec{}, err
	}
	if t.join != "" {
		stdio.Last = t.last
		return c.joinExec(t, stdio)
	}
	exec, made, err := c.begin(t.box, t.made, t.req, stdio)
	answer.Made = made
	return exec, err
}

// begin starts a command, in a new box where one is to be made. It owns stdio,
// also when it fails. The box that was made is returned also when the rest failed.
func (c *execCaller) begin(box string, create *api.CreateRequest, req api.ExecRequest, stdio forkbox.Stdio) (exec forkbox.Exec, made *forkbox.Box, err error) {
	quit := c.mayGiveUp()
	err = checkExec(req)
	if err == nil {
		err = c.checkTurn(c.req, box, create, &req)
	}
	if err == nil && create != nil {
		var b forkbox.Box
		if b, err = c.make(create, quit); err == nil {
			box, made = b.ID, &b
		}
	}
	if err != nil {
		stdio.Close()
		return exec, made, err
	}
	ctx, done := c.waiting(c.unhurried(), who(c.req), &req.Wish, quit, c.gone)
	defer done()
	exec, err = c.Engine.Exec(ctx, who(c.req), box, engineRequest(req), stdio)
	return exec, made, unqueued(ctx, err)
}

func (c *execCaller) make(req *api.CreateRequest, quit <-chan struct{}) (forkbox.Box, error) {
	if err := checkWish(req.Wish); err != nil {
		return forkbox.Box{}, err
	}
	ctx, done := c.waiting(c.unhurried(), who(c.req), &req.Wish, quit, c.gone)
	defer done()
	box, err := c.Engine.Create(ctx, who(c.req), createSpec(*req, who(c.req)))
	return brief(box), unqueued(ctx, err)
}

// joinExec attaches the caller to an exec that runs already.
func (c *session) joinExec(t turn, stdio forkbox.Stdio) (forkbox.Exec, error) {
	exec, err := c.Engine.GetExec(c.unhurried(), who(c.req), t.box, t.join)
	if err == nil && exec.Exit != nil {
		err = forkbox.Errorf(forkbox.Busy, "attach to exec "+t.join, "it has ended").
			Hint("its output: forkbox logs %s %s", t.box, t.join)
	}
	if err != nil {
		stdio.Close()
		return forkbox.Exec{}, err
	}
	return exec, c.Engine.Attach(c.unhurried(), who(c.req), exec.Box, exec.ID, stdio)
}

// unhurried is a context for what must not be cut off half-way by a caller that
// hangs up: gone sees to that.
func (c *execCaller) unhurried() context.Context { return context.WithoutCancel(c.req.Context()) }

// mayGiveUp is closed when the caller takes back what it asks for now.
func (c *execCaller) mayGiveUp() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.givenUp = make(chan struct{})
	return c.givenUp
}

// giveUp can be repeated.
func (c *execCaller) giveUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.givenUp != nil {
		close(c.givenUp)
		c.givenUp = nil
	}
}

// stopBox ends whatever the command left running. There is no grace: the
// command has ended, and a shell would not have waited either.
func (c *execCaller) stopBox(box string) bool {
	now := time.Duration(0)
	_, err := c.Engine.Stop(c.unhurried(), who(c.req), box, &now)
	return err == nil
}

// tellPauses tells the caller when the box that it waits for stands still, and
// when it goes on: a command that hangs without a word helps no user.
func (c *execCaller) tellPauses(ctx context.Context, box string, tell func(text string)) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for was := ""; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		b, err := c.Engine.Box(ctx, who(c.req), box)
		if err != nil || b.Paused == was {
			continue
		}
		was = b.Paused
		text := b.Name + " goes on"
		if was != "" {
			text = fmt.Sprintf("%s is paused: %s. Let it go on: forkbox resume %s   End it: forkbox stop %s", b.Name, was, b.Name, b.Name)
		}
		tell(text)
	}
}
