package ingress

import (
	"context"
	"net"
	"sync/atomic"
	"time"
)

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

// enter connects to the box. The connection ends with the door; whoever got it
// gives it back with done.
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

func (d *door) done(c net.Conn) {
	d.conns.remove(c)
	_ = c.Close()
}

func (d *door) close() {
	d.shut()
	d.conns.end()
}
