package gate

import (
	"context"
	"net"
	"net/netip"

	"github.com/forkbox/forkbox"
)

// intercepted hands a connection to the interceptor where it is one for it. It
// says whether the connection has been dealt with.
func (c *relay) intercepted(said first, v forkbox.NetVerdict) bool {
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
