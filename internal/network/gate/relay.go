package gate

import (
	"context"
	"net"
	"sync/atomic"
	"time"

	"github.com/forkbox/forkbox"
)

// relay is a connection between the box and the world.
type relay struct {
	*flow
	box   *boxConn
	world net.Conn
	dial  func(ctx context.Context) (net.Conn, error)
	// handover says that an interceptor takes the world's end over: whoever
	// reads from it stops, and leaves it as it is.
	handover atomic.Bool
	sent     int           // of what was read ahead
	over     chan struct{} // nobody reads from the world any more
	by       forkbox.Who   // who made it
}

// run copies both ways until both have ended. What the server says goes to the
// box at once, since with some protocols the server speaks first; what the
// client says is looked at first.
func (c *relay) run(sniff bool) {
	c.over = make(chan struct{})
	go func() {
		c.gate.growStack()
		defer close(c.over)
		keepAlive(c.world)
		c.download()
	}()
	if !sniff || c.checkFirst() {
		c.upload()
	}
	<-c.over
	c.box.Close()
}

// cut ends both sides at once.
func (c *relay) cut() {
	c.box.abort()
	reset(c.world)
}

// upload copies from the box to the world.
func (c *relay) upload() {
	err := c.box.eachRead(c.gate, func(data []byte) error {
		return c.gate.up.pace(c.ctx, data, c.writeWorld)
	})
	if err != nil {
		c.cut()
		return
	}
	closeWrite(c.world)
}

// download copies from the world to the box.
func (c *relay) download() {
	err := c.gate.eachReady(c.world, func(data []byte) error {
		return c.gate.down.pace(c.ctx, data, c.writeBox)
	})
	switch {
	case c.handover.Load():
	case err != nil:
		c.cut()
	default:
		c.box.CloseWrite()
	}
}

func (c *relay) writeWorld(data []byte) (int, error) {
	n, err := c.world.Write(data)
	c.out.Add(int64(n))
	return n, err
}

func (c *relay) writeBox(data []byte) (int, error) {
	n, err := c.box.Write(data)
	c.in.Add(int64(n))
	return n, err
}

// takeOver stops download, and says whether the server had not said anything.
func (c *relay) takeOver() bool {
	c.handover.Store(true)
	c.world.SetReadDeadline(time.Unix(1, 0))
	<-c.over
	c.world.SetReadDeadline(time.Time{})
	return c.in.Load() == 0
}

// closeWrite says that no more will come.
func closeWrite(conn net.Conn) {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		half.CloseWrite()
		return
	}
	conn.Close()
}

// reset ends a connection in a way that its other end sees as a failure.
func reset(conn net.Conn) {
	if box, ok := conn.(*boxConn); ok {
		box.abort()
		return
	}
	if linger, ok := conn.(interface{ SetLinger(int) error }); ok {
		linger.SetLinger(0)
	}
	conn.Close()
}
