package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

// longestRefusal has room for an error that is about every file of a large
// tree, each with its reason.
const longestRefusal = 256 << 20

// refusal is the error in a response that is not a success.
func refusal(op string, resp *http.Response) error {
	var body api.ErrorBody
	err := json.NewDecoder(io.LimitReader(resp.Body, longestRefusal)).Decode(&body)
	if err != nil || body.Error == nil {
		return forkbox.Errorf(forkbox.Internal, op, "the daemon answered %s", resp.Status).
			Hint("is that socket a forkbox daemon's? see: forkbox doctor")
	}
	return body.Error
}

// lost is the error of a daemon that did not answer, said of where it is.
func (c *link) lost(ctx context.Context, op string, err error) error {
	var known *forkbox.Error
	if !c.remote || ctx.Err() != nil || errors.As(err, &known) {
		return lost(ctx, op, err)
	}
	return c.unreachable(op, err)
}

// lost is the error of a daemon that did not answer to the end. The context's
// own error stays what it is: the caller gave up, not the daemon.
func lost(ctx context.Context, op string, err error) error {
	var known *forkbox.Error
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &known):
		return known
	case notListening(err):
		return forkbox.Errorf(forkbox.Unavailable, op, "no daemon is running").
			Hint("start one: forkbox serve")
	case errors.Is(err, fs.ErrPermission):
		return forkbox.Errorf(forkbox.Denied, op, "the daemon's socket is not open to you: %w", err).
			Hint("a daemon of root's serves root and the group forkbox: usermod -aG forkbox USER, and log in again").
			Hint("or use your own: unset FORKBOX_HOME and FORKBOX_SOCKET")
	}
	return forkbox.Errorf(forkbox.Unavailable, op, "the daemon does not answer: %w", err)
}
