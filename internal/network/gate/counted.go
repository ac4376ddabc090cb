package gate

import (
	"context"
	"net"
	"strconv"
)

// counted is a connection of an interceptor's to the world: its bytes count as
// the box's.
type counted struct {
	net.Conn
	flow *flow
	stop func() bool
}

// track has a connection end with the flow that it belongs to.
func (f *flow) track(conn net.Conn) net.Conn {
	stop := context.AfterFunc(f.ctx, func() { conn.Close() })
	return &counted{Conn: conn, flow: f, stop: stop}
}

func (c *counted) Read(p []byte) (int, error) {
	down := c.flow.gate.down
	n, err := c.Conn.Read(p[:down.piece(len(p))])
	c.flow.in.Add(int64(n))
	down.wait(c.flow.ctx, n)
	return n, err
}

func (c *counted) Write(p []byte) (int, error) {
	sent := 0
	err := c.flow.gate.up.pace(c.flow.ctx, p, func(piece []byte) (int, error) {
		n, err := c.Conn.Write(piece)
		sent += n
		c.flow.out.Add(int64(n))
		return n, err
	})
	return sent, err
}

func (c *counted) CloseWrite() error {
	closeWrite(c.Conn)
	return nil
}

func (c *counted) Close() error {
	if c.stop != nil {
		c.stop()
	}
	return c.Conn.Close()
}

// quote is a name from the box, fit to be read: it may hold any bytes.
func quote(name string) string {
	if len(name) > 255 {
		name = name[:255] + "…"
	}
	return strconv.Quote(name)
}
