//go:build linux

package main

import (
	"fmt"
	"net"
	"strings"
	"sync"

	"github.com/miekg/dns"
)

// zone is what the world's name server knows, and what it was asked.
type zone struct {
	mu    sync.Mutex
	names map[string]*zoneName
	asked []worldQuestion
}

// zoneName has one set of records for each time that it is asked, the last for
// all times after: a name whose address changes is a list of two.
type zoneName struct {
	sets []([]dns.RR)
	turn map[uint16]int // by type: A and AAAA are asked side by side
}

// worldQuestion is one that came from the host.
type worldQuestion struct{ Name, Type, Over string }

func newZone() *zone { return &zone{names: map[string]*zoneName{}} }

// set reads records as "60 A 203.0.113.7".
func (z *zone) set(name string, sets [][]string) error {
	n := &zoneName{turn: map[uint16]int{}}
	for _, set := range sets {
		var records []dns.RR
		for _, text := range set {
			rr, err := dns.NewRR(dns.Fqdn(name) + " " + text)
			if err != nil {
				return fmt.Errorf("%s %s: %w", name, text, err)
			}
			records = append(records, rr)
		}
		n.sets = append(n.sets, records)
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	z.names[strings.ToLower(dns.Fqdn(name))] = n
	return nil
}

// askedBelow are the questions for a name and all below it.
func (z *zone) askedBelow(name string) []worldQuestion {
	z.mu.Lock()
	defer z.mu.Unlock()
	found := []worldQuestion{}
	for _, q := range z.asked {
		if dns.IsSubDomain(dns.Fqdn(name), strings.ToLower(q.Name)) {
			found = append(found, q)
		}
	}
	return found
}

// reply answers one question and notes that it was asked.
func (z *zone) reply(q *dns.Msg, over string) *dns.Msg {
	m := new(dns.Msg).SetReply(q)
	m.Authoritative, m.RecursionAvailable = true, true
	if len(q.Question) != 1 {
		m.Rcode = dns.RcodeFormatError
		return m
	}
	ask := q.Question[0]
	z.mu.Lock()
	defer z.mu.Unlock()
	z.asked = append(z.asked, worldQuestion{Name: ask.Name, Type: dns.TypeToString[ask.Qtype], Over: over})
	records, known := z.find(ask.Name, ask.Qtype, 0)
	if !known {
		m.Rcode = dns.RcodeNameError
	}
	m.Answer = records
	return m
}

// find follows aliases as a resolver does.
func (z *zone) find(name string, kind uint16, depth int) (found []dns.RR, known bool) {
	n := z.names[strings.ToLower(name)]
	if n == nil || depth > 8 || len(n.sets) == 0 {
		return nil, n != nil
	}
	set := n.sets[min(n.turn[kind], len(n.sets)-1)]
	n.turn[kind]++
	for _, rr := range set {
		if rr.Header().Rrtype == kind {
			found = append(found, rr)
		} else if alias, is := rr.(*dns.CNAME); is {
			more, _ := z.find(alias.Target, kind, depth+1)
			found = append(append(found, rr), more...)
		}
	}
	return found, true
}

// serveDNS answers on every address, over UDP and TCP.
func (o *outside) serveDNS() error {
	packets, err := net.ListenPacket("udp", dnsAddr+":53")
	if err != nil {
		return err
	}
	streams, err := net.Listen("tcp", ":53")
	if err != nil {
		return err
	}
	go (&dns.Server{PacketConn: packets, Handler: o.names.over("udp")}).ActivateAndServe()
	go (&dns.Server{Listener: streams, Handler: o.names.over("tcp")}).ActivateAndServe()
	return nil
}

func (z *zone) over(proto string) dns.Handler {
	return dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		m := z.reply(q, proto)
		if proto == "udp" {
			size := dns.MinMsgSize
			if opt := q.IsEdns0(); opt != nil {
				size = int(opt.UDPSize())
			}
			m.Truncate(size)
		}
		_ = w.WriteMsg(m)
	})
}
