package gate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/forkbox/forkbox"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/waiter"
)

// handshakeTime is how long the box has to take a connection that is there.
const handshakeTime = 15 * time.Second

// acceptTCP decides about a SYN. It runs in a goroutine of its own, of which
// there are no more than are in flight or open, and serves the connection to
// its end.
func (g *Gate) acceptTCP(r *tcp.ForwarderRequest) {
	g.growStack()
	if !g.enter() {
		r.Complete(true)
		return
	}
	defer g.work.Done()
	id := r.ID()
	to := toAddrPort(id.LocalAddress, id.LocalPort)
	from := socket{"tcp", toAddrPort(id.RemoteAddress, id.RemotePort), to}
	if isGateway(to.Addr()) && to.Port() == dnsPort {
		g.serveAside(r, g.names.serveNames)
		return
	}
	switch w := g.decide("tcp", to); {
	case w.verdict.Allowed:
		g.admitTCP(r, w, from)
	case w.page:
		g.log.refuse(w.verdict, &from)
		g.serveAside(r, func(conn *boxConn) { servePage(conn, w.verdict) })
	default:
		g.refuse(r, w.verdict, from)
	}
}

// admitTCP serves a connection that is allowed, if there is a place for it.
// Where that is only for now its SYN is dropped: the sender repeats it.
func (g *Gate) admitTCP(r *tcp.ForwarderRequest, w way, from socket) {
	if !g.reserve() {
		g.refuse(r, g.tooMany(w.verdict), from)
		return
	}
	defer g.vacate()
	ok, crowded := g.dials.begin(from.remote.Addr())
	if !ok {
		g.recordNoPlace(w.verdict)
		r.Complete(false)
		return
	}
	if c := g.connect(r, w, from, crowded); c != nil {
		g.serve(c, w)
	}
}

// refuse asks for the process first: it may end as soon as it hears.
func (g *Gate) refuse(r *tcp.ForwarderRequest, v forkbox.NetVerdict, from socket) {
	g.log.refuse(v, &from)
	r.Complete(true)
}

func (g *Gate) tooMany(v forkbox.NetVerdict) forkbox.NetVerdict {
	return forkbox.NetVerdict{
		Target: v.Target,
		Why:    fmt.Sprintf("the box has as many connections open as its limit allows, %d", g.most.Load()),
		Remedy: "forkbox set " + g.cfg.Box.Name + " --connections " + strconv.FormatInt(2*g.most.Load(), 10),
	}
}

// connect reaches the real world, and then lets the box in: what cannot be
// reached looks to the box as it is. The host's kernel tries for as long as the
// box's does, so a program in the box sees it time out as without a gate.
func (g *Gate) connect(r *tcp.ForwarderRequest, w way, from socket, crowded bool) *relay {
	defer g.dials.end(from.remote.Addr())
	by := g.log.findHolder(from)
	world, err := g.dial(w, crowded)
	if err != nil {
		g.log.fail(failed(w.verdict, err), &from)
		r.Complete(!timedOut(err))
		return nil
	}
	box, err := g.handshake(r)
	if err != nil {
		world.Close()
		g.log.fail(failed(w.verdict, fmt.Errorf("the program did not wait for it: %w", err)), &from)
		return nil
	}
	return &relay{box: box, world: world, dial: w.dial, by: by}
}

// serve relays a connection to its end.
func (g *Gate) serve(c *relay, w way) {
	defer c.world.Close()
	g.share.add(c.box.ep)
	defer g.share.remove(c.box.ep)
	c.flow = g.start(w, c.by, c.cut, c.box.held)
	defer c.flow.end()
	c.run(w.sniff)
}

// failed says why something that is allowed could not be reached.
func failed(v forkbox.NetVerdict, err error) forkbox.NetVerdict {
	v.Why = "allowed, but it cannot be reached: " + err.Error()
	return v
}

func timedOut(err error) bool {
	var t interface{ Timeout() bool }
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, &t) && t.Timeout()
}

// handshake accepts a connection. The stack would wait for minutes for a box
// that sent a SYN and says no more. Close finds what is under way by itself.
func (g *Gate) handshake(r *tcp.ForwarderRequest) (*boxConn, error) {
	queue := new(waiter.Queue)
	timer := time.AfterFunc(handshakeTime, func() { queue.Notify(waiter.WritableEvents) })
	ep, err := r.CreateEndpoint(queue)
	timer.Stop()
	r.Complete(false)
	if err != nil {
		return nil, errors.New(err.String())
	}
	return newBoxConn(ep, queue), nil
}

// serveAside accepts a connection that the gate itself answers, if there is a place.
func (g *Gate) serveAside(r *tcp.ForwarderRequest, serve func(*boxConn)) {
	select {
	case g.side <- struct{}{}:
		defer func() { <-g.side }()
	default:
		r.Complete(true)
		return
	}
	conn, err := g.handshake(r)
	if err != nil {
		return
	}
	defer conn.Close()
	setBuffers(conn.ep, 64<<10)
	serve(conn)
}
