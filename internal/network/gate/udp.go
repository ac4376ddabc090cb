package gate

import (
	"net/netip"
	"time"

	"github.com/forkbox/forkbox"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

const (
	sessionIdle = time.Minute
	// dnsSession is how long an exchange with a name server of the box's own
	// choice is kept.
	dnsSession = 10 * time.Second
)

// acceptUDP decides about the first packet of a session: later ones go straight
// to its endpoint. It runs where packets are read, so it must not wait.
func (g *Gate) acceptUDP(id stack.TransportEndpointID, pkt *stack.PacketBuffer) bool {
	to := toAddrPort(id.LocalAddress, id.LocalPort)
	from := socket{"udp", toAddrPort(id.RemoteAddress, id.RemotePort), to}
	w := g.way("udp", to)
	if w.verdict.Allowed && (!g.reserve() || !g.reserveSession()) {
		w.verdict = g.tooMany(w.verdict)
	}
	if !w.verdict.Allowed {
		g.refuseUDP(w.verdict, from, pkt)
		return true
	}
	s, err := g.newSession(id, pkt)
	if err == nil {
		s.idle = g.idleFor(to)
		if g.spawn(func() { g.serveSession(s, w, from) }) {
			return true
		}
		s.close()
	}
	g.vacate()
	g.sessions.Add(-1)
	return true
}

// reserveSession takes a place among the sessions, or gives back what reserve
// took.
func (g *Gate) reserveSession() bool {
	if g.sessions.Add(1) <= sessionLimit {
		return true
	}
	g.sessions.Add(-1)
	g.vacate()
	return false
}

func (g *Gate) idleFor(to netip.AddrPort) time.Duration {
	if to.Port() == dnsPort {
		return dnsSession
	}
	return g.idle
}

// refuseUDP answers "port unreachable", as a host does on which nobody listens:
// programs that try QUIC turn to TCP at once. The process is asked for first, in
// a goroutine of its own where it is not a repetition.
func (g *Gate) refuseUDP(v forkbox.NetVerdict, from socket, pkt *stack.PacketBuffer) {
	p, ok := parsePacket(pkt.ToView().AsSlice())
	reply := func() {
		if ok && g.errors.take(1) {
			g.link.send(unreachable(p, portUnreachable))
		}
	}
	if g.log.repeats(v) {
		reply()
		return
	}
	select {
	case g.side <- struct{}{}:
		if !g.spawn(func() {
			defer func() { <-g.side }()
			g.log.refuse(v, &from)
			reply()
		}) {
			<-g.side
		}
	default:
		g.log.refuse(v, nil)
		reply()
	}
}
