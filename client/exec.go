package client

import (
	"context"
	"net/http"
	"time"

	"github.com/forkbox/forkbox"
)

// What happens to an exec whose caller goes away before it ends.
const (
	KillOnDisconnect = "kill" // it ends, with everything it started
	KeepOnDisconnect = "keep"
)

// ExecRequest asks to run a command.
type ExecRequest struct {
	forkbox.ExecSpec
	// ExtraEnv was asked for by name, so it is passed even where it looks
	// like a credential.
	ExtraEnv     forkbox.Strings `json:"extra_env,omitempty"`
	OnDisconnect string          `json:"on_disconnect,omitempty"` // default: keep
	// Stop stops the box when the command has ended, before its exit is
	// reported: what it left running ends with it.
	Stop bool `json:"stop,omitempty"`
	// Stdin is what a detached exec reads.
	Stdin []byte `json:"stdin,omitempty"`
	// Wish is what limits it is to have, beside those of its box.
	Wish forkbox.Wish `json:"wish,omitzero"`
}

// SignalRequest sends a signal to an exec.
type SignalRequest struct {
	Signal int `json:"signal"`
}

// KillRequest ends an exec with its tree. A zero grace is KILL at once.
type KillRequest struct {
	Grace time.Duration `json:"grace,omitempty"`
}

// ExecList is a list of execs.
type ExecList struct {
	Execs []forkbox.Exec `json:"execs"`
}

// ExecDetached starts a command that no client waits for. Its output is in its
// log.
func (c *Client) ExecDetached(ctx context.Context, ref string, req ExecRequest) (exec forkbox.Exec, err error) {
	err = c.call(ctx, execOp(req.Argv), http.MethodPost, boxPath(ref, "execs"), req, &exec)
	return exec, err
}

// Execs lists those of a box, oldest first.
func (c *Client) Execs(ctx context.Context, ref string) ([]forkbox.Exec, error) {
	var list ExecList
	err := c.call(ctx, "list execs of box "+ref, http.MethodGet, boxPath(ref, "execs"), nil, &list)
	return list.Execs, err
}

// GetExec finds one.
func (c *Client) GetExec(ctx context.Context, ref, id string) (exec forkbox.Exec, err error) {
	err = c.call(ctx, "find exec "+id, http.MethodGet, boxPath(ref, "execs", id), nil, &exec)
	return exec, err
}

// WaitExec blocks until an exec has ended. With [KillOnDisconnect] the exec
// ends when the caller goes away.
func (c *Client) WaitExec(ctx context.Context, ref, id, onDisconnect string) (exec forkbox.Exec, err error) {
	path := boxPath(ref, "execs", id, "wait")
	if onDisconnect == KillOnDisconnect {
		path += "?on_disconnect=kill"
	}
	err = c.call(ctx, "wait for exec "+id, http.MethodGet, path, nil, &exec)
	return exec, err
}

// Signal sends a signal to an exec.
func (c *Client) Signal(ctx context.Context, ref, id string, signal int) error {
	return c.call(ctx, "signal exec "+id, http.MethodPost, boxPath(ref, "execs", id, "signal"), SignalRequest{Signal: signal}, nil)
}

// Kill ends an exec with everything it started: TERM, a grace, KILL.
func (c *Client) Kill(ctx context.Context, ref, id string, grace time.Duration) error {
	return c.call(ctx, "kill exec "+id, http.MethodPost, boxPath(ref, "execs", id, "kill"), KillRequest{Grace: grace}, nil)
}

// Resize changes the size of an exec's terminal.
func (c *Client) Resize(ctx context.Context, ref, id string, size forkbox.Size) error {
	return c.call(ctx, "resize exec "+id, http.MethodPost, boxPath(ref, "execs", id, "resize"), size, nil)
}

// Suspended is what became of a ctrl-Z.
type Suspended struct {
	Stopped bool `json:"stopped"` // the exec stands still; the signal CONT has it go on
}

// Suspend stops an exec as ctrl-Z on its terminal would. Where it did not, the
// key means something else to what runs there.
func (c *Client) Suspend(ctx context.Context, ref, id string) (bool, error) {
	var done Suspended
	err := c.call(ctx, "suspend exec "+id, http.MethodPost, boxPath(ref, "execs", id, "suspend"), nil, &done)
	return done.Stopped, err
}

func execOp(argv []string) string {
	if len(argv) == 0 {
		return "run a command"
	}
	return "run " + argv[0]
}
