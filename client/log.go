package client

import (
	"context"
	"net/http"

	"github.com/forkbox/forkbox"
)

// LogLine is one line of a log as the API sends it: a record, or at the end
// what went wrong.
type LogLine struct {
	*forkbox.LogRecord
	Error *forkbox.Error `json:"error,omitempty"`
}

// Logs calls yield for each record of an exec's output. With follow it goes on
// until the exec ends.
func (c *Client) Logs(ctx context.Context, ref, id string, follow bool, yield func(forkbox.LogRecord) error) error {
	op := "read the output of exec " + id
	path := boxPath(ref, "execs", id, "logs")
	if follow {
		path += "?follow=1"
	}
	resp, err := c.send(ctx, op, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	return eachLine(ctx, op, resp.Body, func(line LogLine) error {
		switch {
		case line.Error != nil:
			return line.Error
		case line.LogRecord == nil:
			return nil
		}
		return yield(*line.LogRecord)
	})
}
