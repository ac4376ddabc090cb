package gate

import (
	"context"
	"net"
	"net/netip"

	"github.com/forkbox/forkbox"
	"github.com/miekg/dns"
)

// refusedWay is that of a name that was refused when it was asked for. If the
// policy has changed meanwhile, the name is asked for after all: programs keep
// addresses.
func (g *Gate) refusedWay(proto string, stand standIn, to netip.AddrPort) way {
	target := forkbox.NetTarget{Proto: proto, Host: stand.name, Addr: stand.real, Port: int(to.Port())}
	page := proto == "tcp" && to.Port() == 80
	if stand.refused != nil {
		v := *stand.refused
		v.Target = target
		return way{verdict: v, page: page}
	}
	v := g.rules().Connect(target)
	switch {
	case !v.Allowed:
		return way{verdict: v, page: page}
	case stand.real.IsValid():
		return way{verdict: v, sniff: true, dial: g.dialer(proto, netip.AddrPortFrom(stand.real, to.Port()))}
	case proto != "tcp":
		v.Allowed, v.Why = false, "it was not allowed when its name was asked for"
		return way{verdict: v}
	}
	return g.lateWay(v)
}

// lateWay asks for a name that has come to be allowed.
func (g *Gate) lateWay(v forkbox.NetVerdict) way {
	ctx, cancel := context.WithTimeout(g.ctx, answerTime)
	defer cancel()
	reply := g.addresses(ctx, v.Target.Host, dns.TypeA)
	if len(reply.addrs) == 0 {
		return way{verdict: v, dial: func(context.Context) (net.Conn, error) {
			return nil, forkbox.Errorf(forkbox.NotFound, "resolve "+v.Target.Host, "it has no address that the box may reach")
		}}
	}
	v.Target.Addr = reply.addrs[0]
	v = g.rules().Connect(v.Target)
	to := netip.AddrPortFrom(v.Target.Addr, uint16(v.Target.Port))
	return way{verdict: v, sniff: true, dial: g.dialer("tcp", to)}
}
