package engine

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/forkbox/forkbox"
)

// How a port is waited for: so often, so long for each answer, and so long in
// all if nobody says.
const (
	knockEvery   = 50 * time.Millisecond
	knockLimit   = time.Second
	waitPatience = 30 * time.Second
)

// URL is where a browser on this host reaches a port of a box that runs.
func (e *Engine) URL(ctx context.Context, who forkbox.Owner, ref string, port int) (string, error) {
	const op = "open the port"
	ctx, end, err := e.begin(ctx, op)
	if err != nil {
		return "", err
	}
	defer end()
	if err := checkPort(op, port); err != nil {
		return "", err
	}
	if e.ports == nil {
		return "", noPorts(op)
	}
	box, h, unlock, err := e.take(ctx, who, ref)
	if err != nil {
		return "", err
	}
	defer unlock() // a box that stops meanwhile would leave the URL behind
	a, err := e.awake(ctx, op, h, &box)
	if err != nil {
		return "", err
	}
	dial, err := e.dialer(op, a, box.Name)
	if err != nil {
		return "", err
	}
	url, err := e.ports.URL(box, port, dial)
	return url, forkbox.Wrap(op, err)
}

// WaitPort returns when something in a box that runs accepts connections on a
// port. That a server was started does not mean that it serves.
func (e *Engine) WaitPort(ctx context.Context, who forkbox.Owner, ref string, port int, timeout time.Duration) error {
	const op = "wait for the port"
	ctx, end, err := e.begin(ctx, op)
	if err != nil {
		return err
	}
	defer end()
	if err := checkPort(op, port); err != nil {
		return err
	}
	if timeout < 0 {
		return forkbox.Errorf(forkbox.Invalid, op, "nobody can wait for less than no time")
	}
	box, h, unlock, err := e.take(ctx, who, ref)
	if err != nil {
		return err
	}
	a, err := e.awake(ctx, op, h, &box)
	unlock()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, orElse(timeout, waitPatience))
	defer cancel()
	return e.knock(ctx, op, box, a, port)
}

// awake is the instance of a box that runs. One at rest is not started: nobody
// listens in a box that begins.
func (e *Engine) awake(ctx context.Context, op string, h *handle, box *forkbox.Box) (*attached, error) {
	if err := usable(op, *box); err != nil {
		return nil, err
	}
	a, err := e.found(ctx, h, box)
	if err == nil && a == nil {
		err = forkbox.Errorf(forkbox.Busy, op, "%s is at rest, so that nothing listens in it", box.Name).
			Hint("run a server in it: forkbox exec -d %s -- COMMAND", box.Name)
	}
	return a, err
}

// dialer connects to ports of a box. What answers in the box does not know its
// name.
func (e *Engine) dialer(op string, a *attached, name string) (Dial, error) {
	n, ok := a.instance.(forkbox.Networked)
	if !ok {
		return nil, e.notNetworked(op)
	}
	return func(ctx context.Context, port int) (net.Conn, error) {
		conn, err := n.Dial(ctx, port)
		return conn, nameBox(err, name)
	}, nil
}

// knock tries until somebody opens.
func (e *Engine) knock(ctx context.Context, op string, box forkbox.Box, a *attached, port int) error {
	dial, err := e.dialer(op, a, box.Name)
	if err != nil {
		return err
	}
	last := errors.New("there was no time to try")
	for {
		err := knockOnce(ctx, dial, port)
		switch {
		case err == nil:
			return nil
		case forkbox.CodeOf(err) == forkbox.Unsupported:
			return err
		case ctx.Err() == nil:
			last = err
		}
		select {
		case <-time.After(knockEvery):
		case <-a.instance.Done():
			return forkbox.Errorf(forkbox.Busy, op, "%s stopped before anything listened on port %d", box.Name, port).
				Hint("see why: forkbox show %s", box.Name)
		case <-e.ctx.Done():
			return errClosing(op)
		case <-ctx.Done():
			return forkbox.Errorf(forkbox.TimedOut, op, "nothing accepts connections on port %d of %s: %w", port, box.Name, last).
				Hint("see what runs in it: forkbox ps %s", box.Name)
		}
	}
}

func knockOnce(ctx context.Context, dial Dial, port int) error {
	ctx, cancel := context.WithTimeout(ctx, knockLimit)
	defer cancel()
	conn, err := dial(ctx, port)
	if err == nil {
		conn.Close()
	}
	return err
}
