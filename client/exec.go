package client

import (
	"context"
	"net/url"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

// ExecDetached starts a command that no client waits for. Its output is in its
// log.
func (c *Client) ExecDetached(ctx context.Context, ref string, req api.ExecRequest) (forkbox.Exec, error) {
	return do(ctx, c.link, execOp(req.Argv), api.StartExec, req, nil, ref)
}

// Execs lists those of a box, oldest first.
func (c *Client) Execs(ctx context.Context, ref string) ([]forkbox.Exec, error) {
	list, err := do(ctx, c.link, "list execs of box "+ref, api.ListExecs, api.None{}, nil, ref)
	return list.Execs, err
}

// GetExec finds one.
func (c *Client) GetExec(ctx context.Context, ref, id string) (forkbox.Exec, error) {
	return do(ctx, c.link, "find exec "+id, api.GetExec, api.None{}, nil, ref, id)
}

// WaitExec blocks until an exec has ended. With [KillOnDisconnect] the exec
// ends when the caller goes away.
func (c *Client) WaitExec(ctx context.Context, ref, id, onDisconnect string) (forkbox.Exec, error) {
	query := url.Values{}
	if onDisconnect == api.KillOnDisconnect {
		query.Set("on_disconnect", onDisconnect)
	}
	return do(ctx, c.link, "wait for exec "+id, api.WaitExec, api.None{}, query, ref, id)
}

// Signal sends a signal to an exec.
func (c *Client) Signal(ctx context.Context, ref, id string, signal int) error {
	_, err := do(ctx, c.link, "signal exec "+id, api.SignalExec, api.SignalRequest{Signal: signal}, nil, ref, id)
	return err
}

// Kill ends an exec with everything it started: TERM, a grace, KILL.
func (c *Client) Kill(ctx context.Context, ref, id string, grace time.Duration) error {
	_, err := do(ctx, c.link, "kill exec "+id, api.KillExec, api.KillRequest{Grace: grace}, nil, ref, id)
	return err
}

// Resize changes the size of an exec's terminal.
func (c *Client) Resize(ctx context.Context, ref, id string, size forkbox.Size) error {
	_, err := do(ctx, c.link, "resize exec "+id, api.ResizeExec, size, nil, ref, id)
	return err
}

// Suspend stops an exec as ctrl-Z on its terminal would. Where it did not, the
// key means something else to what runs there.
func (c *Client) Suspend(ctx context.Context, ref, id string) (bool, error) {
	done, err := do(ctx, c.link, "suspend exec "+id, api.SuspendExec, api.None{}, nil, ref, id)
	return done.Stopped, err
}

func execOp(argv []string) string {
	if len(argv) == 0 {
		return "run a command"
	}
	return "run " + argv[0]
}
