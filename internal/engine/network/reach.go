package network

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
)

// How a port is waited for: so often, so long for each answer, and so long in
// all if the caller does not say.
const (
	knockEvery   = 50 * time.Millisecond
	knockLimit   = time.Second
	waitPatience = 30 * time.Second
)

// URL is where a browser on this host reaches a port of a box that runs.
func (m *Manager) URL(ctx context.Context, who forkbox.Owner, ref string, port int) (string, error) {
	const op = "open the port"
	ctx, end, err := m.core.Begin(ctx, op)
	if err != nil {
		return "", err
	}
	defer end()
	if err := checkPort(op, port); err != nil {
		return "", err
	}
	if m.ports == nil {
		return "", noPorts(op)
	}
	box, h, unlock, err := m.core.Take(ctx, who, ref)
	if err != nil {
		return "", err
	}
	defer unlock() // a box that stops meanwhile would leave the URL behind
	a, err := m.awake(ctx, op, h, &box)
	if err != nil {
		return "", err
	}
	dial, err := m.dialer(op, a, box.Name)
	if err != nil {
		return "", err
	}
	url, err := m.ports.URL(box, port, dial)
	return url, forkbox.Wrap(op, err)
}

// WaitPort returns when something in a box that runs accepts connections on a
// port. That a server was started does not mean that it serves.
func (m *Manager) WaitPort(ctx context.Context, who forkbox.Owner, ref string, port int, timeout time.Duration) error {
	const op = "wait for the port"
	ctx, end, err := m.core.Begin(ctx, op)
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
	box, h, unlock, err := m.core.Take(ctx, who, ref)
	if err != nil {
		return err
	}
	a, err := m.awake(ctx, op, h, &box)
	unlock()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, core.OrElse(timeout, waitPatience))
	defer cancel()
	return m.Knock(ctx, op, box, a, port)
}

// awake is the instance of a box that runs. One at rest is not started: nothing
// listens in a box that begins.
func (m *Manager) awake(ctx context.Context, op string, h *core.Handle, box *forkbox.Box) (*core.Attached, error) {
	if err := core.Usable(op, *box); err != nil {
		return nil, err
	}
	a, err := m.core.Find(ctx, h, box)
	if err == nil && a == nil {
		err = forkbox.Errorf(forkbox.Busy, op, "%s is at rest, so that nothing listens in it", box.Name).
			Hint("run a server in it: forkbox exec -d %s -- COMMAND", box.Name)
	}
	return a, err
}

// dialer connects to ports of a box. What answers in the box does not know its
// name.
func (m *Manager) dialer(op string, a *core.Attached, name string) (Dial, error) {
	n, ok := a.Instance.(forkbox.Networked)
	if !ok {
		return nil, m.notNetworked(op)
	}
	return func(ctx context.Context, port int) (net.Conn, error) {
		conn, err := n.Dial(ctx, port)
		return conn, core.NameBox(err, name)
	}, nil
}

// Knock tries until a connection is accepted.
func (m *Manager) Knock(ctx context.Context, op string, box forkbox.Box, a *core.Attached, port int) error {
	dial, err := m.dialer(op, a, box.Name)
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
		case <-a.Instance.Done():
			return forkbox.Errorf(forkbox.Busy, op, "%s stopped before anything listened on port %d", box.Name, port).
				Hint("see why: forkbox show %s", box.Name)
		case <-m.core.Ctx.Done():
			return core.ErrClosing(op)
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
