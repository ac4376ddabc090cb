package gate

import (
	"context"
	"net/netip"
	"strings"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/miekg/dns"
)

// standInTTL is short: once a name is allowed, programs should ask again.
const standInTTL = 1

// answer makes of a question what the box may know.
func (n *names) answer(ctx context.Context, q *dns.Msg) *dns.Msg {
	m := new(dns.Msg).SetReply(q)
	m.RecursionAvailable = true
	if opt := q.IsEdns0(); opt != nil {
		m.SetEdns0(dns.DefaultMsgSize, false)
	}
	switch {
	case q.Opcode != dns.OpcodeQuery:
		m.Rcode = dns.RcodeNotImplemented
	case len(q.Question) != 1:
		m.Rcode = dns.RcodeFormatError
	case q.Question[0].Qclass != dns.ClassINET || q.Question[0].Qtype == dns.TypeANY:
		m.Rcode = dns.RcodeRefused
	default:
		n.answerName(ctx, m, canonical(q.Question[0].Name), q.Question[0].Qtype)
	}
	return m
}

// answerName answers for names that are the gate's own business, or asks the
// policy about others.
func (n *names) answerName(ctx context.Context, m *dns.Msg, name string, qtype uint16) {
	switch _, isMate := n.peer(name); {
	case !validName(name) || numeric(name):
		m.Rcode = dns.RcodeNameError
	case qtype == dns.TypeHTTPS || qtype == dns.TypeSVCB:
		// Empty: they carry keys that hide names, and hints of addresses.
	case name == "localhost" || strings.HasSuffix(name, ".localhost"):
		addAddr(m, netip.AddrFrom4([4]byte{127, 0, 0, 1}), qtype, standInTTL)
		addAddr(m, netip.IPv6Loopback(), qtype, standInTTL)
	case name == forkbox.HostName:
		addAddr(m, Gateway4, qtype, standInTTL)
	case isMate:
		addAddr(m, n.stands.giveToMate(name), qtype, standInTTL)
	default:
		n.answerPolicy(ctx, m, name, qtype)
	}
}

func (n *names) answerPolicy(ctx context.Context, m *dns.Msg, name string, qtype uint16) {
	v := n.rules().Name(serviceHost(name, qtype))
	switch {
	case !v.Allowed:
		n.answerRefused(m, name, qtype, v)
	case qtype == dns.TypeA || qtype == dns.TypeAAAA:
		n.answerAddresses(ctx, m, name, qtype)
	default:
		n.answerOther(ctx, m, name, qtype)
	}
}

// answerRefused gives a refused name an address at which connections are refused
// on record. It is not asked for outside: the name itself could be a message.
func (n *names) answerRefused(m *dns.Msg, name string, qtype uint16, v forkbox.NetVerdict) {
	if strings.HasSuffix(name, ".arpa") {
		m.Rcode = dns.RcodeNameError // many programs ask whose an address is, and mean nothing by it
		return
	}
	v.Target = forkbox.NetTarget{Proto: "dns", Host: name, Port: dnsPort}
	n.log.noteLookup(v)
	if qtype == dns.TypeA {
		addAddr(m, n.stands.giveToRefused(name, netip.Addr{}, nil), qtype, standInTTL)
	}
}

// serviceLabel is how long the name of a service or of its protocol can be.
const serviceLabel = 16

// serviceHost is the host that a service's name is about: _http._tcp.example.com
// is as allowed as example.com, whose owner answers for both. What is longer
// than such names are could carry data to that owner's name servers, and services
// have no addresses.
func serviceHost(name string, qtype uint16) string {
	if qtype == dns.TypeA || qtype == dns.TypeAAAA {
		return name
	}
	for range 2 {
		label, rest, found := strings.Cut(name, ".")
		if !found || !isService(label) {
			break
		}
		name = rest
	}
	return name
}

// isService says whether a label, of a valid name, is a service or a protocol.
func isService(label string) bool {
	word, found := strings.CutPrefix(label, "_")
	return found && word != "" && len(word) <= serviceLabel && !strings.Contains(word, "_")
}

// numeric says whether a name could be taken for an address in some notation of
// old: its last label is a number. No such name exists.
func numeric(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	return last == "" || last[0] >= '0' && last[0] <= '9'
}

// validName says whether a name consists of what names of hosts and services
// consist of.
func validName(name string) bool {
	if name == "" || len(name) > 253 {
		return false
	}
	for _, c := range []byte(name) {
		if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.') {
			return false
		}
	}
	return true
}

// addAddr adds an address to an answer, if it is of the kind that was asked for.
func addAddr(m *dns.Msg, addr netip.Addr, qtype uint16, ttl uint32) {
	h := dns.RR_Header{Name: m.Question[0].Name, Rrtype: qtype, Class: dns.ClassINET, Ttl: ttl}
	switch {
	case qtype == dns.TypeA && addr.Is4():
		m.Answer = append(m.Answer, &dns.A{Hdr: h, A: addr.AsSlice()})
	case qtype == dns.TypeAAAA && addr.Is6():
		m.Answer = append(m.Answer, &dns.AAAA{Hdr: h, AAAA: addr.AsSlice()})
	}
}

// addresses is what the world has for an allowed name, as far as the box may know.
type addresses struct {
	addrs   []netip.Addr
	ttl     time.Duration
	rcode   int
	refused *forkbox.NetVerdict // an alias on the way is denied
	hidden  netip.Addr          // an address that may not be given out
}

// findAddresses asks the world for an allowed name, and pins what may be given out.
func (j *judge) findAddresses(ctx context.Context, name string, qtype uint16) addresses {
	reply, err := j.cfg.Resolver.lookup(ctx, j.asking, question{name, qtype})
	if err != nil {
		v := j.rules().Name(name)
		v.Target = forkbox.NetTarget{Proto: "dns", Host: name, Port: dnsPort}
		j.log.fail(failed(v, err), nil)
		return addresses{rcode: dns.RcodeServerFailure}
	}
	f := addresses{rcode: reply.Rcode, ttl: reply.TTL, refused: aliasDenied(j.rules(), reply.Aliases)}
	if f.refused != nil {
		return f
	}
	for _, addr := range reply.Addrs {
		if !j.rules().Answer(name, addr) || isOwn(addr) {
			f.hidden = addr
			continue
		}
		f.addrs = append(f.addrs, addr)
		j.pins.add(addr, name, reply.TTL, reply.Aliases...)
	}
	return f
}

const ttlMost = time.Hour

// answerAddresses answers with the addresses of an allowed name, under the name
// that was asked for: aliases are of no use to the box, since only the name is
// pinned.
func (n *names) answerAddresses(ctx context.Context, m *dns.Msg, name string, qtype uint16) {
	f := n.findAddresses(ctx, name, qtype)
	m.Rcode = f.rcode
	ttl := uint32(min(f.ttl, ttlMost) / time.Second)
	for _, addr := range f.addrs {
		addAddr(m, addr, qtype, ttl)
	}
	if len(f.addrs) > 0 || f.refused == nil && !f.hidden.IsValid() {
		return
	}
	m.Rcode = dns.RcodeSuccess
	if qtype == dns.TypeA { // a connection to it is refused with the reason
		addAddr(m, n.stands.giveToRefused(name, f.hidden, f.refused), qtype, standInTTL)
		return
	}
	if len(n.findAddresses(ctx, name, dns.TypeA).addrs) == 0 {
		n.log.noteLookup(n.whyHidden(name, f))
	}
}

// whyHidden says why a name has no address for the box: nothing will connect to
// it that could be refused with the reason.
func (j *judge) whyHidden(name string, f addresses) forkbox.NetVerdict {
	v := forkbox.NetVerdict{Why: "its address belongs to the box's gate"}
	switch {
	case f.refused != nil:
		v = *f.refused
	case !isOwn(f.hidden):
		// No port of it may be reached, so any will do to hear why.
		v = j.rules().Connect(forkbox.NetTarget{Proto: "tcp", Host: name, Addr: f.hidden, Port: 443})
	}
	v.Allowed, v.Target = false, forkbox.NetTarget{Proto: "dns", Host: name, Addr: f.hidden, Port: dnsPort}
	return v
}

// answerOther passes on records of other types, without those that could bring
// the box addresses which are not pinned.
func (n *names) answerOther(ctx context.Context, m *dns.Msg, name string, qtype uint16) {
	reply, err := n.cfg.Resolver.lookup(ctx, n.asking, question{name, qtype})
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
