package gate

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"github.com/forkbox/forkbox"
)

// dialMost is how many connections can be under way to where they lead: each has
// a socket of the host's.
const dialMost = 1024

// crowdedTime is how long one of them is tried once half of the places are taken.
// Otherwise that is the kernel's business, and takes minutes: a program that
// tries many hosts which are not there would keep its box off the net for as long.
const crowdedTime = 5 * time.Second

// dials are the connections that are being made. None waits for a place, since
// what the box may not reach is refused however many there are.
type dials struct {
	mu  sync.Mutex
	all int
	to  map[netip.Addr]int
}

// begin takes a place, and says whether few are left. A destination gets no more
// than it leaves free, so that one which never answers does not keep the box from
// others.
func (d *dials) begin(to netip.Addr) (ok, crowded bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.to[to] >= dialMost-d.all {
		return false, true
	}
	if d.to == nil {
		d.to = map[netip.Addr]int{}
	}
	d.all++
	d.to[to]++
	return true, d.all > dialMost/2
}

func (d *dials) end(to netip.Addr) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all--
	if d.to[to]--; d.to[to] == 0 {
		delete(d.to, to)
	}
}

// dial reaches where a way leads.
func (g *Gate) dial(w way, crowded bool) (net.Conn, error) {
	if !crowded {
		return w.dial(g.ctx)
	}
	ctx, cancel := context.WithTimeout(g.ctx, crowdedTime)
	defer cancel()
	return w.dial(ctx)
}

var errHasty = errors.New("the box is making too many connections at once, and this one has to be tried again")

// recordNoPlace records an attempt for which there is no place, without asking whose
// it is: there are many.
func (g *Gate) recordNoPlace(v forkbox.NetVerdict) { g.log.fail(failed(v, errHasty), nil) }

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
		KeepAlive: -1, // set once the relay runs: it costs system calls
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
