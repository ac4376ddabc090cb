package client

import (
	"context"
	"net/url"
	"strconv"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

// ConnSpec is which connections to tell. The zero value is all that are kept.
type ConnSpec struct {
	After  int64 // only later ones than this id
	Limit  int   // no more than the latest so many; 0 is the daemon's own bound
	Follow bool  // go on with what is tried from now on
}

// Conns calls yield for each connection that a box tried, the oldest first. One
// that was open comes again, under the same id, when it has ended. With Follow
// it goes on, also through the next daemon.
func (c Network) Conns(ctx context.Context, ref string, spec ConnSpec, yield func(forkbox.Conn) error) error {
	f := connFollower{op: "read the connections of box " + ref, ref: ref, spec: spec, yield: yield, open: map[int64]bool{}}
	if !spec.Follow {
		return c.readConns(ctx, &f)
	}
	over := func() bool { return f.own != nil || !f.heard }
	return persist(ctx, over, func() error {
		err := c.readConns(ctx, &f)
		f.resume()
		return err
	})
}

// connFollower is a caller who reads connections, through several daemons if
// need be.
type connFollower struct {
	op, ref string
	spec    ConnSpec // what is still to be told
	yield   func(forkbox.Conn) error

	heard bool
	last  int64          // the latest that was told
	known int64          // the latest that an earlier daemon told
	open  map[int64]bool // told, and not yet that they ended
	own   error          // yield's
}

func (c Network) readConns(ctx context.Context, f *connFollower) error {
	resp, err := c.send(ctx, f.op, api.ListConns.Route, nil, f.spec.query(), f.ref)
	if err != nil {
		return err
	}
	f.heard = true
	return eachLine(ctx, f.op, resp.Body, func(line api.ConnLine) error {
		switch {
		case line.Error != nil:
			return line.Error
		case line.Conn == nil:
			return nil
		}
		return f.take(*line.Conn)
	})
}

// resume has the next daemon asked for what came after the last, and for the
// connections that were open: what became of them is only known there.
func (f *connFollower) resume() {
	if f.last == 0 {
		return // nothing was told yet: the same is asked for again
	}
	f.known = f.last
	f.spec.After, f.spec.Limit = f.last, 0
	for id := range f.open {
		f.spec.After = min(f.spec.After, id-1)
	}
}

// take passes on what is new.
func (f *connFollower) take(conn forkbox.Conn) error {
	ended := conn.State != forkbox.ConnOpen
	if conn.ID <= f.known && !(f.open[conn.ID] && ended) {
		return nil
	}
	f.ref = conn.Box // the name may soon be another's
	f.last = max(f.last, conn.ID)
	if ended {
		delete(f.open, conn.ID)
	} else {
		f.open[conn.ID] = true
	}
	f.own = f.yield(conn)
	return f.own
}

func (s ConnSpec) query() url.Values {
	q := url.Values{}
	if s.After != 0 {
		q.Set("after", strconv.FormatInt(s.After, 10))
	}
	if s.Limit != 0 {
		q.Set("limit", strconv.Itoa(s.Limit))
	}
	if s.Follow {
		q.Set("follow", "1")
	}
	return q
}
