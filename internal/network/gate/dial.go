package gate

import (
	"context"
	"net"
	"net/netip"
	"syscall"
)

// dialWorld connects as net.Dialer does, in less time where the other end is
// near: that is what a box's programs wait for.
//
// A Dialer has a goroutine watch the context; here a context that ends shuts the
// socket down. And a Dialer begins to connect and then waits in the poller,
// although a host that is near has answered by then. Here connecting begins a
// step earlier, so that what the Dialer does is to ask what became of it: it
// waits only where it has to.
func dialWorld(ctx context.Context, network, address string) (net.Conn, error) {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, err
	}
	var stop func() bool
	dialer := net.Dialer{
		KeepAlive: -1, // later, when nobody waits
		Control: func(_, _ string, raw syscall.RawConn) error {
			stop = context.AfterFunc(ctx, func() { shutdown(raw) })
			if network == "tcp" {
				raw.Control(func(fd uintptr) { beginConnect(fd, to) })
			}
			return ctx.Err()
		},
	}
	conn, err := dialer.Dial(network, address)
	if stop == nil || stop() {
		return conn, err
	}
	if err == nil {
		conn.Close()
	}
	return nil, context.Cause(ctx)
}

// keepAlive has the kernel find out when the other end has gone without a word.
func keepAlive(conn net.Conn) {
	if tcp, is := conn.(*net.TCPConn); is {
		tcp.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: keepIdle, Interval: keepEvery, Count: -1})
	}
}
