package gate

import (
	"context"
	"net/netip"
	"strings"

	"github.com/forkbox/forkbox"
	"github.com/miekg/dns"
)

// standInTTL is short: once a name is allowed, programs should ask again.
const standInTTL = 1

// answer makes of a question what the box may know.
func (g *Gate) answer(ctx context.Context, q *dns.Msg) *dns.Msg {
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
		g.answerName(ctx, m, canonical(q.Question[0].Name), q.Question[0].Qtype)
	}
	return m
}

// answerName answers for names that are the gate's own business, or asks the
// policy about others.
func (g *Gate) answerName(ctx context.Context, m *dns.Msg, name string, qtype uint16) {
	switch _, isMate := g.peer(name); {
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
		addAddr(m, g.stands.mate(name), qtype, standInTTL)
	default:
		g.answerPolicy(ctx, m, name, qtype)
	}
}

func (g *Gate) answerPolicy(ctx context.Context, m *dns.Msg, name string, qtype uint16) {
	v := g.rules().Name(serviceHost(name, qtype))
	switch {
	case !v.Allowed:
		g.answerRefused(m, name, qtype, v)
	case qtype == dns.TypeA || qtype == dns.TypeAAAA:
		g.answerAddresses(ctx, m, name, qtype)
	default:
		g.answerOther(ctx, m, name, qtype)
	}
}

// answerRefused gives a refused name an address at which connections are refused
// on record. It is not asked for outside: the name itself could be a message.
func (g *Gate) answerRefused(m *dns.Msg, name string, qtype uint16, v forkbox.NetVerdict) {
	if strings.HasSuffix(name, ".arpa") {
		m.Rcode = dns.RcodeNameError // many programs ask whose an address is, and mean nothing by it
		return
	}
	v.Target = forkbox.NetTarget{Proto: "dns", Host: name, Port: dnsPort}
	g.log.lookup(v)
	if qtype == dns.TypeA {
		addAddr(m, g.stands.refuse(name, netip.Addr{}, nil), qtype, standInTTL)
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
