package server

import (
	"context"
	"fmt"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
)

// startTurn starts what a caller asks for, or joins it. The box that was made
// for it is in the answer also when the rest failed.
func (c *session) startTurn(t turn, answer *client.Message) (forkbox.Exec, error) {
	stdio, err := toStdio(t.first, t.files)
	if err != nil {
		return forkbox.Exec{}, err
	}
	if t.join != "" {
		stdio.Last = t.last
		return c.joinExec(t, stdio)
	}
	quit := c.mayGiveUp()
	err = checkExec(t.req)
	if err == nil && t.made != nil {
		var box forkbox.Box
		if box, err = c.make(t.made, quit); err == nil {
			t.box, answer.Made = box.ID, &box
		}
	}
	if err != nil {
		stdio.Close()
		return forkbox.Exec{}, err
	}
	ctx, done := c.waiting(c.unhurried(), who(c.req), &t.req.Wish, quit, c.gone)
	defer done()
	exec, err := c.Engine.Exec(ctx, who(c.req), t.box, engineRequest(t.req), stdio)
	return exec, unqueued(ctx, err)
}

func (c *session) make(req *client.CreateRequest, quit <-chan struct{}) (forkbox.Box, error) {
	if err := checkWish(req.Wish); err != nil {
		return forkbox.Box{}, err
	}
	ctx, done := c.waiting(c.unhurried(), who(c.req), &req.Wish, quit, c.gone)
	defer done()
	box, err := c.Engine.Create(ctx, who(c.req), createSpec(*req))
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
// hangs up: listen sees to that.
func (c *session) unhurried() context.Context { return context.WithoutCancel(c.req.Context()) }

// mayGiveUp is closed when the caller takes back what it asks for now.
func (c *session) mayGiveUp() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.givenUp = make(chan struct{})
	return c.givenUp
}

// giveUp can be repeated.
func (c *session) giveUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.givenUp != nil {
		close(c.givenUp)
		c.givenUp = nil
	}
}

// tellPauses tells the caller when the box that it waits for stands still, and
// when it goes on: a command that hangs without a word helps no user.
func (c *session) tellPauses(ctx context.Context, box string) {
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
		c.conn.Send(client.Message{Type: client.MsgNote, Text: text})
	}
}
