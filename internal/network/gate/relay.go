package gate

import (
	"context"
	"net"
	"net/netip"
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
	// handover says that an interceptor takes the world's end over: download
	// stops, and leaves it as it is.
	handover atomic.Bool
	sent     int           // of what was read ahead
	over     chan struct{} // closed when download has ended
	by       forkbox.Who   // the process that made it
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

// interceptIfAsked hands a connection to the interceptor where the rules or its
// protocol want that. It says whether the connection has been dealt with.
func (c *relay) interceptIfAsked(said first, v forkbox.NetVerdict) bool {
	host, port := v.Target.Host, v.Target.Port
	if host == "" {
		return false // allowed by address, whatever is spoken
	}
	rules, able := c.gate.rules(), c.gate.cfg.Intercept != nil
	ends := said.kind == tlsHello && rules.Terminates(host, port)
	switch {
	case able && (ends || said.kind == httpRequest || said.proxied):
		c.intercept(said, v)
	case ends || rules.NeedsRequests(host, port):
		c.turnAway(said, forkbox.NetVerdict{Target: v.Target, Rule: v.Rule, Why: "only some requests may pass to this host, and the gate cannot see any in this connection"})
	default:
		return false
	}
	return true
}

func (c *relay) intercept(said first, v forkbox.NetVerdict) {
	if !c.takeOver() {
		c.cut() // a server that speaks before the request is no HTTP server
		return
	}
	c.gate.cfg.Intercept(c.box, c.meta(said, v))
	c.world.Close()
}

func (c *relay) meta(said first, v forkbox.NetVerdict) Meta {
	return Meta{
		Host:   v.Target.Host,
		Addr:   netip.AddrPortFrom(v.Target.Addr, uint16(v.Target.Port)),
		TLS:    said.kind == tlsHello,
		Dial:   c.redial(),
		Record: func(v forkbox.NetVerdict) { c.gate.log.refuse(v, nil) },
	}
}

// redial gives out the connection that is there, unless something was sent on it,
// and then new ones to the same address.
func (c *relay) redial() func(ctx context.Context) (net.Conn, error) {
	spare := make(chan net.Conn, 1)
	if c.sent == 0 {
		spare <- c.world
	} else {
		reset(c.world)
	}
	return func(ctx context.Context) (net.Conn, error) {
		select {
		case conn := <-spare:
			return &counted{Conn: conn, flow: c.flow}, nil
		default:
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(c.ctx, cancel)()
		conn, err := c.dial(ctx)
		if err != nil {
			return nil, err
		}
		return c.track(conn), nil
	}
}
