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

// Events calls yield for each event, the oldest first. With Follow it goes on,
// also through the next daemon, which is asked for what came after the last.
func (c *Client) Events(ctx context.Context, spec EventSpec, yield func(forkbox.Event) error) error {
	f := eventFollower{spec: spec, yield: yield}
	if !spec.Follow {
		return c.readEvents(ctx, &f)
	}
	over := func() bool { return f.own != nil || !f.heard }
	return persist(ctx, over, func() error { return c.readEvents(ctx, &f) })
}

// eventFollower reads events, through several daemons if need be.
type eventFollower struct {
	spec  EventSpec // what is still to be told
	yield func(forkbox.Event) error

	heard bool
	own   error // yield's
}

func (c *Client) readEvents(ctx context.Context, f *eventFollower) error {
	const op = "read the events"
	resp, err := c.send(ctx, op, http.MethodGet, "/events?"+f.spec.query(), nil)
	if err != nil {
		return err
	}
	f.heard = true
	return eachLine(ctx, op, resp.Body, func(line EventLine) error {
		switch {
		case line.Error != nil:
			return line.Error
		case line.Event == nil:
			return nil
		}
		return f.take(*line.Event)
	})
}

func (f *eventFollower) take(e forkbox.Event) error {
	f.spec.After = e.ID
	if f.spec.Box != "" {
		f.spec.Box = e.Box // the name may soon be another's
	}
	f.own = f.yield(e)
	return f.own
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
