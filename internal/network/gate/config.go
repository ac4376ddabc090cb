package gate

import (
	"context"
	"net"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/forkbox/forkbox"
)

// withDefaults fills in what was not said.
func (c Config) withDefaults() Config {
	if c.Dial == nil {
		c.Dial = dialWorld
	}
	if c.Host == nil {
		c.Host = dialLoopback
	}
	if c.Record == nil {
		c.Record = func(forkbox.Conn) {}
	}
	if c.NextID == nil {
		var last atomic.Int64
		c.NextID = func() int64 { return last.Add(1) }
	}
	return c
}

// dialLoopback reaches a service of the host's, on whichever loopback it listens.
func dialLoopback(ctx context.Context, port int) (net.Conn, error) {
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err == nil {
		return conn, nil
	}
	other, err6 := dialer.DialContext(ctx, "tcp", net.JoinHostPort("::1", strconv.Itoa(port)))
	if err6 != nil {
		return nil, err
	}
	return other, nil
}

// Stats is what the gate holds and has done.
func (g *Gate) Stats() Stats {
	s := Stats{
		Open:      int(g.open.Load()),
		In:        g.in.Load(),
		Out:       g.out.Load(),
		Dropped:   g.link.dropped.Load(),
		Pins:      g.pins.count(),
		StandIns:  g.stands.count(),
		Questions: g.asked.Load(),
	}
	if stack := g.stack.Load(); stack != nil {
		s.HalfOpen = int64(stack.Stats().TCP.ForwardMaxInFlightDrop.Value())
	}
	for _, f := range g.flows.list() {
		s.In += f.in.Load()
		s.Out += f.out.Load()
		s.Memory += f.held()
	}
	s.Memory += g.lent.Load()
	return s
}
