package gate

import (
	"context"
	"net/netip"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/miekg/dns"
)

// found is what the world has for an allowed name, as far as the box may know.
type found struct {
	addrs   []netip.Addr
	ttl     time.Duration
	rcode   int
	refused *forkbox.NetVerdict // an alias on the way is denied
	hidden  netip.Addr          // an address that may not be given out
}

// addresses asks the world for an allowed name, and pins what may be given out.
func (g *Gate) addresses(ctx context.Context, name string, qtype uint16) found {
	reply, err := g.cfg.Resolver.lookup(ctx, g.asking, question{name, qtype})
	if err != nil {
		v := g.rules().Name(name)
		v.Target = forkbox.NetTarget{Proto: "dns", Host: name, Port: dnsPort}
		g.log.fail(failed(v, err), nil)
		return found{rcode: dns.RcodeServerFailure}
	}
	f := found{rcode: reply.Rcode, ttl: reply.TTL, refused: aliasDenied(g.rules(), reply.Aliases)}
	if f.refused != nil {
		return f
	}
	for _, addr := range reply.Addrs {
		if !g.rules().Answer(name, addr) || isOwn(addr) {
			f.hidden = addr
			continue
		}
		f.addrs = append(f.addrs, addr)
		g.pins.add(addr, name, reply.TTL, reply.Aliases...)
	}
	return f
}

const ttlMost = time.Hour

// answerAddresses answers with the addresses of an allowed name, under the name
// that was asked for: aliases are of no use to the box, since only the name is
// pinned.
func (g *Gate) answerAddresses(ctx context.Context, m *dns.Msg, name string, qtype uint16) {
	f := g.addresses(ctx, name, qtype)
	m.Rcode = f.rcode
	ttl := uint32(min(f.ttl, ttlMost) / time.Second)
	for _, addr := range f.addrs {
		addAddr(m, addr, qtype, ttl)
	}
	if len(f.addrs) > 0 || f.refused == nil && !f.hidden.IsValid() {
		return
	}
	m.Rcode = dns.RcodeSuccess
	if qtype == dns.TypeA { // whoever connects is refused with the reason
		addAddr(m, g.stands.refuse(name, f.hidden, f.refused), qtype, standInTTL)
		return
	}
	if len(g.addresses(ctx, name, dns.TypeA).addrs) == 0 {
		g.log.lookup(g.whyHidden(name, f))
	}
}

// whyHidden says why a name has no address for the box: nothing will connect to
// it that could be refused with the reason.
func (g *Gate) whyHidden(name string, f found) forkbox.NetVerdict {
	v := forkbox.NetVerdict{Why: "its address belongs to the box's gate"}
	switch {
	case f.refused != nil:
		v = *f.refused
	case !isOwn(f.hidden):
		// No port of it may be reached, so any will do to hear why.
		v = g.rules().Connect(forkbox.NetTarget{Proto: "tcp", Host: name, Addr: f.hidden, Port: 443})
	}
	v.Allowed, v.Target = false, forkbox.NetTarget{Proto: "dns", Host: name, Addr: f.hidden, Port: dnsPort}
	return v
}

// answerOther passes on records of other types, without those that could bring
// the box addresses which are not pinned.
func (g *Gate) answerOther(ctx context.Context, m *dns.Msg, name string, qtype uint16) {
	reply, err := g.cfg.Resolver.lookup(ctx, g.asking, question{name, qtype})
	if err != nil {
		m.Rcode = dns.RcodeServerFailure
		return
	}
	m.Rcode = reply.Rcode
	for _, rr := range reply.Records {
		switch rr.Header().Rrtype {
		case dns.TypeA, dns.TypeAAAA, dns.TypeHTTPS, dns.TypeSVCB, dns.TypeOPT:
		default:
			m.Answer = append(m.Answer, rr)
		}
	}
}
