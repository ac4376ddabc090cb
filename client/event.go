package client

import (
	"context"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

// EventSpec is which events to tell. The zero value is all that are kept, of
// all that the caller has.
type EventSpec struct {
	Box    string              // only of this one
	Kinds  forkbox.EventFilter // only of these kinds
	After  int64               // only later ones than this id; AfterLatest is from now on
	Follow bool                // go on with what happens from now on
}

// AfterLatest is the After of a caller who wants what happens from now on.
const AfterLatest int64 = -1

// Events calls yield for each event, the oldest first. With Follow it goes on,
// also through the next daemon, which is asked for what came after the last.
func (c *Client) Events(ctx context.Context, spec EventSpec, yield func(forkbox.Event) error) error {
	f := eventFollower{spec: spec, yield: yield}
	if !spec.Follow {
		return c.listEvents(ctx, &f)
	}
	over := func() bool { return f.own != nil || !f.heard }
	return persist(ctx, over, func() error { return c.followEvents(ctx, &f) })
}

// eventFollower reads events, through several daemons if need be.
type eventFollower struct {
	spec  EventSpec // what is still to be told
	yield func(forkbox.Event) error

	heard bool
	own   error // yield's
}

func (c *Client) listEvents(ctx context.Context, f *eventFollower) error {
	const op = "read the events"
	resp, err := c.send(ctx, op, api.ReadEvents.Route, nil, f.spec.query())
	if err != nil {
		return err
	}
	return eachLine(ctx, op, resp.Body, func(line api.EventLine) error {
		switch {
		case line.Error != nil:
			return line.Error
		case line.Event == nil:
			return nil
		}
		return f.take(*line.Event)
	})
}

func (c *Client) followEvents(ctx context.Context, f *eventFollower) error {
	const op = "follow the events"
	resp, err := c.stream(ctx, op, api.ReadEvents.Route, f.spec.query())
	if err != nil {
		return err
	}
	f.heard = true
	return eachSent(ctx, op, resp.Body, func(name string, data []byte) error {
		if name == api.StreamFailed {
			failed := &forkbox.Error{}
			if err := json.Unmarshal(data, failed); err != nil {
				return lost(ctx, op, err)
			}
			return failed
		}
		var e forkbox.Event
		if err := json.Unmarshal(data, &e); err != nil {
			return lost(ctx, op, err)
		}
		return f.take(e)
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

func (s EventSpec) query() url.Values {
	q := url.Values{}
	if s.Box != "" {
		q.Set("box", s.Box)
	}
	if len(s.Kinds) > 0 {
		q.Set("kind", strings.Join(s.Kinds, ","))
	}
	switch {
	case s.After == AfterLatest:
		q.Set("after", api.AfterLatest)
	case s.After != 0:
		q.Set("after", strconv.FormatInt(s.After, 10))
	}
	return q
}
