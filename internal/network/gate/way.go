package gate

import (
	"context"
	"fmt"
	"net"
	"net/netip"

	"github.com/forkbox/forkbox"
)

// way is how an attempt goes on: what is made of it and, where it is allowed,
// how the other end is reached.
type way struct {
	verdict forkbox.NetVerdict
	under   *Policy // that it was decided under
	dial    func(ctx context.Context) (net.Conn, error)
	// sniff says that what the client says first has to be looked at.
	sniff bool
	// page says that it is refused, but that a browser gets to read why.
	page bool
}

// way decides about a new connection or session.
func (g *Gate) way(proto string, to netip.AddrPort) way {
	under := g.policy.Load() // before it is asked: it may change meanwhile
	w := g.wayTo(proto, to)
	w.under = under
	return w
}

func (g *Gate) wayTo(proto string, to netip.AddrPort) way {
	switch stand, found := g.stands.at(to.Addr()); {
	case isGateway(to.Addr()):
		return g.hostWay(proto, to)
	case found && stand.mate:
		return g.mateWay(proto, stand, to)
	case found:
		return g.refusedWay(proto, stand, to)
	case isOwn(to.Addr()):
		t := forkbox.NetTarget{Proto: proto, Addr: to.Addr(), Port: int(to.Port())}
		return way{verdict: forkbox.NetVerdict{Target: t, Why: "the address belongs to the box's gate"}}
	}
	return way{verdict: g.judge(proto, to), sniff: true, dial: g.dialer(proto, to)}
}

// judge asks the policy about an address as each of the names that it was given
// out for, the latest first, and then by itself.
func (g *Gate) judge(proto string, to netip.AddrPort) forkbox.NetVerdict {
	policy := g.rules()
	target := forkbox.NetTarget{Proto: proto, Addr: to.Addr(), Port: int(to.Port())}
	var refused *forkbox.NetVerdict
	for _, name := range g.pins.names(to.Addr()) {
		target.Host = name
		verdict := policy.Connect(target)
		if verdict.Allowed {
			return verdict
		}
		if refused == nil {
			refused = &verdict
		}
	}
	target.Host = ""
	bare := policy.Connect(target)
	switch {
	case bare.Allowed:
		return bare
	case refused != nil:
		return *refused
	}
	return g.orAlias(bare)
}

func (g *Gate) dialer(proto string, to netip.AddrPort) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) { return g.cfg.Dial(ctx, proto, to.String()) }
}

// hostWay leads to a service on the host's loopback.
func (g *Gate) hostWay(proto string, to netip.AddrPort) way {
	port := int(to.Port())
	v := forkbox.NetVerdict{Target: forkbox.NetTarget{Proto: proto, Host: forkbox.HostName, Addr: to.Addr(), Port: port}}
	if proto != "tcp" || !g.rules().HostPort(port) {
		v.Why = fmt.Sprintf("port %d of the host is not one that the box may reach", port)
		v.Remedy = fmt.Sprintf("make the box with --host-port %d", port)
		return way{verdict: v}
	}
	v.Allowed, v.Why = true, "the box may reach this port of the host"
	v.Rule = forkbox.NetRule{Rule: fmt.Sprintf("host-port %d", port), From: "box"}
	return way{verdict: v, dial: func(ctx context.Context) (net.Conn, error) { return g.cfg.Host(ctx, port) }}
}

// mateWay leads to a teammate, while it is there.
func (g *Gate) mateWay(proto string, stand standIn, to netip.AddrPort) way {
	v := forkbox.NetVerdict{Target: forkbox.NetTarget{Proto: proto, Host: stand.name, Addr: to.Addr(), Port: int(to.Port())}}
	peer, found := g.peer(stand.name)
	if !found {
		v.Why = "there is no such box in its team now"
		return way{verdict: v}
	}
	v.Allowed, v.Why = true, "it is a box of the same team"
	v.Rule = forkbox.NetRule{Rule: "team " + g.cfg.Box.Network.Team, From: "box"}
	return way{verdict: v, dial: func(ctx context.Context) (net.Conn, error) {
		return peer.DialPeer(ctx, g.cfg.Box.Name, proto, int(to.Port()))
	}}
}

func (g *Gate) peer(name string) (Peer, bool) {
	if g.cfg.Peers == nil || name == "" || name == g.cfg.Box.Name {
		return nil, false
	}
	return g.cfg.Peers(name)
}
