package ingress

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// room is for so many connections at once. That of a box is part of the one for
// all. A nil room has no end.
type room struct {
	most  int64
	open  atomic.Int64
	outer *room
}

// enter takes a place. A caller that got one calls leave.
func (r *room) enter() bool {
	if r == nil {
		return true
	}
	if r.open.Add(1) > r.most || !r.outer.enter() {
		r.open.Add(-1)
		return false
	}
	return true
}

func (r *room) leave() {
	for ; r != nil; r = r.outer {
		r.open.Add(-1)
	}
}

// group is connections that end together.
type group struct {
	mu    sync.Mutex
	conns map[net.Conn]struct{}
	ended bool
}

// add takes a connection in. After the end it is cut at once, and false says so:
// a dial that was under way while the box stopped leaves nothing open.
func (g *group) add(c net.Conn) bool {
	g.mu.Lock()
	ended := g.ended
	if !ended {
		if g.conns == nil {
			g.conns = map[net.Conn]struct{}{}
		}
		g.conns[c] = struct{}{}
	}
	g.mu.Unlock()
	if ended {
		cut(c)
	}
	return !ended
}

func (g *group) remove(c net.Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.conns, c)
}

// end cuts all, outside the lock: a connection may remove itself when closed.
func (g *group) end() {
	g.mu.Lock()
	conns := g.conns
	g.ended, g.conns = true, nil
	g.mu.Unlock()
	for c := range conns {
		cut(c)
	}
}

// cut closes a connection with a reset. The other end must not take what it
// read so far for all there was; and one that could not be relayed at all looks
// refused.
func cut(c net.Conn) {
	if t, ok := c.(interface{ SetLinger(int) error }); ok {
		_ = t.SetLinger(0)
	}
	_ = c.Close()
}

// dialTimeout is how long a box may take to accept a connection. Its loopback
// answers at once unless the box is paused or its server's queue is full.
const dialTimeout = 10 * time.Second

// door leads to one port of a box, until it is shut.
type door struct {
	port  int // of the box
	dial  atomic.Pointer[Dial]
	room  *room
	conns group // both ends of all that goes through
	open  context.Context
	shut  context.CancelFunc
}

func newDoor(port int, room *room, dial Dial) *door {
	d := &door{port: port, room: room}
	d.dial.Store(&dial)
	d.open, d.shut = context.WithCancel(context.Background())
	return d
}

// enter connects to the box. The connection ends with the door; the caller that
// got it gives it back with done.
func (d *door) enter(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	defer context.AfterFunc(d.open, cancel)()
	c, err := (*d.dial.Load())(ctx, d.port)
	if err != nil {
		return nil, err
	}
	if !d.conns.add(c) {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (d *door) leave(c net.Conn) {
	d.conns.remove(c)
	_ = c.Close()
}

func (d *door) close() {
	d.shut()
	d.conns.end()
}
