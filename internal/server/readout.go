package server

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/internal/execstream"
)

// readout is an exec that a caller reads and writes without files of its own: what
// lies between a link to the box's init and whatever the caller speaks. All that
// could be lost with the daemon is kept by init.
type readout struct {
	execCaller
	key  string
	stop bool             // the box ends with the command
	link *execstream.Link // nil: the exec has ended
	done *forkbox.Exec    // then this is how
	at   forkbox.StreamAt // where the output begins that comes over the link
}

// start starts a command whose output is kept for the caller.
func (c *readout) start(box string, req api.StreamRequest) (made *forkbox.Box, err error) {
	spec := forkbox.StreamSpec{
		Key: rand.Text(), Stdin: req.Stdin, Merge: req.Merge,
		Grace: grace(req), Kill: req.Exec.OnDisconnect == api.KillOnDisconnect,
	}
	c.key, c.stop = spec.Key, req.Exec.Stop
	exec, made, err := c.begin(box, req.Create, *req.Exec, forkbox.Stdio{Stream: &spec})
	if err != nil {
		return made, err
	}
	c.runs(exec)
	return made, c.connect(forkbox.StreamJoin{Key: c.key, Seen: &forkbox.StreamAt{}})
}

// join goes on with the stream of an exec, or joins one in the background.
func (c *readout) join(box, id string, req api.StreamRequest) error {
	exec, err := c.Engine.GetExec(c.unhurried(), who(c.req), box, id)
	if err != nil {
		return err
	}
	c.runs(exec)
	if c.key, c.stop = req.Key, req.Stop && req.Key != ""; c.key == "" {
		c.key = rand.Text()
	}
	err = c.connect(forkbox.StreamJoin{Key: c.key, Seen: req.Seen, Grace: grace(req)})
	if err == nil && c.done != nil && req.Key == "" && req.Seen == nil {
		err = forkbox.Errorf(forkbox.Busy, "attach to exec "+id, "it has ended").
			Hint("its output: forkbox logs %s %s", box, id)
	}
	return err
}

func grace(req api.StreamRequest) time.Duration {
	if req.Grace == nil {
		return api.DefaultStreamGrace
	}
	return *req.Grace
}

// connect makes the link. An exec that has ended needs none: what is left to tell
// of it is in its log.
func (c *readout) connect(join forkbox.StreamJoin) error {
	link, theirs, err := execstream.Pair()
	if err != nil {
		return forkbox.Wrap("link to the box", err)
	}
	exec := c.running()
	if exec.Exit == nil {
		c.at, err = c.Engine.Stream(c.unhurried(), who(c.req), exec.Box, exec.ID, join, theirs)
		if err == nil {
			c.link = link
			return nil
		}
	} else {
		theirs.Close()
	}
	link.Close()
	return c.ended(exec, err)
}

// ended finds how an exec ended that could not be linked to. One that still runs
// was refused for another reason.
func (c *readout) ended(exec forkbox.Exec, err error) error {
	ctx, cancel := context.WithTimeout(c.unhurried(), handoverTime)
	defer cancel()
	now, found := exec, error(nil)
	switch {
	case exec.Exit != nil:
	case forkbox.CodeOf(err) == forkbox.NotFound: // its exit is on its way from init
		now, found = c.Engine.Wait(ctx, who(c.req), exec.Box, exec.ID)
	default:
		now, found = c.Engine.GetExec(ctx, who(c.req), exec.Box, exec.ID)
	}
	if found != nil || now.Exit == nil {
		return err
	}
	c.done = &now
	return nil
}

// gap is output that was not kept.
type gap struct {
	at   forkbox.StreamAt // where the output goes on
	text string
}

// catchUp passes on what the caller has not seen of the output before the link's,
// as far as the log has it. Of an exec that has ended that is all of it.
func (c *readout) catchUp(seen forkbox.StreamAt, pass func(execstream.Channel, []byte) error) (*gap, error) {
	have := seen
	if c.done == nil && have.Stdout >= c.at.Stdout && have.Stderr >= c.at.Stderr {
		return nil, nil
	}
	read := forkbox.StreamAt{} // how far the log was read
	exec := c.running()
	err := c.Engine.Logs(c.unhurried(), who(c.req), exec.Box, exec.ID, false, func(r forkbox.LogRecord) error {
		ch, pos, got, end := execstream.Stdout, &read.Stdout, &have.Stdout, c.at.Stdout
		if r.Stream == "stderr" {
			ch, pos, got, end = execstream.Stderr, &read.Stderr, &have.Stderr, c.at.Stderr
		}
		from := *pos
		*pos += int64(len(r.Data))
		data := r.Data[min(max(*got-from, 0), int64(len(r.Data))):]
		if c.done == nil {
			data = data[:max(0, int64(len(data))-max(0, *pos-end))]
		}
		if len(data) == 0 {
			return nil
		}
		*got += int64(len(data))
		return pass(ch, data)
	})
	if err != nil && forkbox.CodeOf(err) != forkbox.NotFound {
		return nil, err
	}
	return c.missing(have), nil
}

// missing says what the log did not have.
func (c *readout) missing(have forkbox.StreamAt) *gap {
	lost := max(0, c.at.Stdout-have.Stdout) + max(0, c.at.Stderr-have.Stderr)
	g := &gap{at: forkbox.StreamAt{Stdout: max(have.Stdout, c.at.Stdout), Stderr: max(have.Stderr, c.at.Stderr)}}
	if c.done != nil {
		lost, g.at = 0, have
		if out := c.done.Output; out != nil {
			lost = max(0, out.Kept+out.Dropped-have.Stdout-have.Stderr)
		}
	}
	if lost == 0 {
		return nil
	}
	g.text = fmt.Sprintf("%d bytes of output are missing: more was written than is kept of it", lost)
	return g
}

// exit waits for the end of the command, after all of its output has been
// received, and stops the box where that was asked for. It is an error when the
// caller or the daemon goes away before.
func (c *readout) exit(received <-chan struct{}) (exec forkbox.Exec, stopped bool, err error) {
	running := c.running()
	if c.done != nil {
		select {
		case <-received:
			return *c.done, c.stop && c.stopBox(running.Box), nil
		case <-c.gone:
		case <-c.stopping:
		}
		return *c.done, false, errHungUp
	}
	ctx, cancel := context.WithCancel(c.unhurried())
	defer cancel()
	go func() {
		select {
		case <-c.gone:
		case <-c.stopping:
		case <-ctx.Done():
		}
		cancel()
	}()
	exec, err = c.Engine.Wait(ctx, who(c.req), running.Box, running.ID)
	if err == nil {
		select {
		case <-received:
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	switch {
	case err == nil:
		return exec, c.stop && c.stopBox(running.Box), nil
	case ctx.Err() != nil:
		return exec, false, errHungUp
	}
	return exec, false, err
}

// close ends the link. With left the caller does not come back.
func (c *readout) close(left bool) {
	if c.link == nil {
		return
	}
	if left {
		c.link.Send(execstream.Frame{Kind: execstream.Leave})
	}
	c.link.Close()
}
