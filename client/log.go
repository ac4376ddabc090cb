package client

import (
	"context"
	"net/url"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

// Logs calls yield for each record of an exec's output. With follow it goes on
// until the exec ends, also through the next daemon: an exec outlives its daemon,
// and so does its log.
func (c *Client) Logs(ctx context.Context, ref, id string, follow bool, yield func(forkbox.LogRecord) error) error {
	f := logFollower{op: "read the output of exec " + id, ref: ref, id: id, yield: yield}
	if !follow {
		return c.readLog(ctx, &f)
	}
	f.query = flags("follow", true)
	over := func() bool { return f.own != nil || !f.heard }
	return persist(ctx, over, func() error { return c.readLog(ctx, &f) })
}

// logFollower reads a log, through several daemons if need be.
type logFollower struct {
	op, ref, id string
	query       url.Values
	yield       func(forkbox.LogRecord) error

	heard bool
	told  int64 // how many bytes of output yield was given
	own   error // yield's
}

func (c *Client) readLog(ctx context.Context, f *logFollower) error {
	resp, err := c.send(ctx, f.op, api.ReadLogs.Route, nil, f.query, f.ref, f.id)
	if err != nil {
		return err
	}
	f.heard = true
	known := f.told
	return eachLine(ctx, f.op, resp.Body, func(line api.LogLine) error {
		switch {
		case line.Error != nil:
			return line.Error
		case line.LogRecord == nil:
			return nil
		}
		return f.take(*line.LogRecord, &known)
	})
}

// take passes on what is new. A log only grows, and a daemon tells it from the
// start: the first known bytes were passed on by the one before, though perhaps
// in other pieces.
func (f *logFollower) take(r forkbox.LogRecord, known *int64) error {
	old := min(*known, int64(len(r.Data)))
	*known -= old
	if r.Data = r.Data[old:]; len(r.Data) == 0 {
		return nil
	}
	f.told += int64(len(r.Data))
	f.own = f.yield(r)
	return f.own
}
