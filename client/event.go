package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/forkbox/forkbox"
)

// EventSpec is which events to tell. The zero value is all that are kept, of
// all boxes of the caller's.
type EventSpec struct {
	Box    string // only of this one
	After  int64  // only later ones than this id
	Follow bool   // go on with what happens from now on
}

// EventLine is one line of the events as the API sends them: an event, or at
// the end what went wrong.
type EventLine struct {
	*forkbox.Event
	Error *forkbox.Error `json:"error,omitempty"`
}

// Events calls yield for each event, the oldest first.
func (c *Client) Events(ctx context.Context, spec EventSpec, yield func(forkbox.Event) error) error {
	const op = "read the events"
	resp, err := c.send(ctx, op, http.MethodGet, "/events?"+spec.query(), nil)
	if err != nil {
		return err
	}
	return eachLine(ctx, op, resp.Body, func(line EventLine) error {
		switch {
		case line.Error != nil:
			return line.Error
		case line.Event == nil:
			return nil
		}
		return yield(*line.Event)
	})
}

func (s EventSpec) query() string {
	q := url.Values{}
	if s.Box != "" {
		q.Set("box", s.Box)
	}
	if s.After != 0 {
		q.Set("after", strconv.FormatInt(s.After, 10))
	}
	if s.Follow {
		q.Set("follow", "1")
	}
	return q.Encode()
}
