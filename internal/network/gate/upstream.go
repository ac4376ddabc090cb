package gate

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/miekg/dns"
)

const (
	tryTime  = 2 * time.Second
	tries    = 2
	udpRoom  = 1232 // what passes every path unfragmented
	ttlLeast = time.Second
	// nothingTTL is how long it is remembered that there is nothing.
	nothingTTL = 30 * time.Second
)

// upstream asks one server after the other.
func (r *Resolver) upstream(ctx context.Context, q question) (Reply, error) {
	servers := r.cfg.Servers
	if len(servers) == 0 {
		servers = r.servers.list()
	}
	err := errors.New("the host has no name server")
	for range tries {
		for _, server := range servers {
			var m *dns.Msg
			if m, err = r.exchange(ctx, server, q); err == nil {
				return readReply(m, q)
			}
			if ctx.Err() != nil {
				return Reply{}, err
			}
		}
	}
	return Reply{}, err
}

// exchange asks one server, by TCP if the answer does not fit.
func (r *Resolver) exchange(ctx context.Context, server netip.AddrPort, q question) (*dns.Msg, error) {
	m := new(dns.Msg).SetQuestion(dns.Fqdn(q.name), q.qtype) // with a random id
	m.SetEdns0(udpRoom, false)
	reply, err := r.exchangeOver(ctx, "udp", server, m)
	if err == nil && reply.Truncated {
		reply, err = r.exchangeOver(ctx, "tcp", server, m)
	}
	switch {
	case err != nil:
		return nil, err
	case reply.Rcode != dns.RcodeSuccess && reply.Rcode != dns.RcodeNameError:
		return nil, fmt.Errorf("the name server says %s", dns.RcodeToString[reply.Rcode])
	}
	return reply, nil
}

// exchangeOver asks from a socket of its own, so from a random port. What is
// not an answer to this question is ignored: an attacker may be guessing.
func (r *Resolver) exchangeOver(ctx context.Context, network string, server netip.AddrPort, m *dns.Msg) (*dns.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, tryTime)
	defer cancel()
	socket, err := r.cfg.Dial(ctx, network, server.String())
	if err != nil {
		return nil, err
	}
	defer socket.Close()
	deadline, _ := ctx.Deadline()
	socket.SetDeadline(deadline)
	conn := &dns.Conn{Conn: socket, UDPSize: dns.MaxMsgSize}
	if err := conn.WriteMsg(m); err != nil {
		return nil, err
	}
	for {
		reply, err := conn.ReadMsg()
		var failure net.Error
		if err != nil && (reply == nil || errors.As(err, &failure)) {
			return nil, err
		}
		if err == nil && answers(reply, m) {
			return reply, nil
		}
		if network == "tcp" {
			return nil, errors.New("the name server answers another question")
		}
	}
}

func answers(reply, m *dns.Msg) bool {
	if !reply.Response || reply.Id != m.Id || len(reply.Question) != 1 {
		return false
	}
	a, q := reply.Question[0], m.Question[0]
	return a.Qtype == q.Qtype && a.Qclass == q.Qclass && strings.EqualFold(a.Name, q.Name)
}

// readReply follows aliases from the name that was asked for. What the answer
// holds beside that is not believed.
func readReply(m *dns.Msg, q question) (Reply, error) {
	reply := Reply{Rcode: m.Rcode, TTL: ttlMost}
	name := q.name
	for range 16 {
		next := reply.collect(m.Answer, name, q.qtype)
		if next == "" || next == name {
			break
		}
		reply.Aliases = append(reply.Aliases, next)
		name = next
	}
	if len(reply.Records) == 0 {
		reply.TTL = nothingTTL
	}
	reply.TTL = max(reply.TTL, ttlLeast)
	return reply, nil
}

// collect takes what there is for one name, and returns what it is an alias of.
func (r *Reply) collect(records []dns.RR, name string, qtype uint16) (alias string) {
	for _, rr := range records {
		h := rr.Header()
		if canonical(h.Name) != name || h.Class != dns.ClassINET {
			continue
		}
		cname, isAlias := rr.(*dns.CNAME)
		if h.Rrtype != qtype && !isAlias {
			continue
		}
		r.TTL = min(r.TTL, time.Duration(h.Ttl)*time.Second)
		r.Records = append(r.Records, rr)
		switch rr := rr.(type) {
		case *dns.A:
			r.addAddr(rr.A)
		case *dns.AAAA:
			r.addAddr(rr.AAAA)
		}
		if isAlias && qtype != dns.TypeCNAME {
			alias = canonical(cname.Target)
		}
	}
	return alias
}

func (r *Reply) addAddr(ip net.IP) {
	if addr, ok := netip.AddrFromSlice(ip); ok {
		r.Addrs = append(r.Addrs, addr.Unmap())
	}
}

// watched is a file of the host's that is read again when it has changed.
type watched struct {
	path   string
	mu     sync.Mutex
	looked time.Time
	info   os.FileInfo
}

// lookEvery is how often the file is looked at.
const lookEvery = time.Second

// rereadIfChanged reads the fields of each line again if the file is another than
// before; the caller holds the lock.
func (w *watched) rereadIfChanged(reset func(), line func(fields []string)) {
	if time.Since(w.looked) < lookEvery {
		return
	}
	w.looked = time.Now()
	info, err := os.Stat(w.path)
	if err != nil || w.info != nil && os.SameFile(info, w.info) && info.ModTime().Equal(w.info.ModTime()) && info.Size() == w.info.Size() {
		return
	}
	f, err := os.Open(w.path)
	if err != nil {
		return
	}
	defer f.Close()
	w.info = info
	reset()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		text, _, _ := strings.Cut(lines.Text(), "#")
		line(strings.Fields(text))
	}
}

// serverFile is the host's list of name servers.
type serverFile struct {
	watched
	servers []netip.AddrPort
}

func (s *serverFile) list() []netip.AddrPort {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rereadIfChanged(func() { s.servers = nil }, func(fields []string) {
		if len(fields) < 2 || fields[0] != "nameserver" {
			return
		}
		if addr, err := netip.ParseAddr(fields[1]); err == nil {
			s.servers = append(s.servers, netip.AddrPortFrom(addr, dnsPort))
		}
	})
	return s.servers
}

// hostsFile is the host's own list of names.
type hostsFile struct {
	watched
	names map[string][]netip.Addr
}

func (h *hostsFile) addrs(name string) []netip.Addr {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.rereadIfChanged(func() { h.names = map[string][]netip.Addr{} }, func(fields []string) {
		if len(fields) < 2 {
			return
		}
		addr, err := netip.ParseAddr(fields[0])
		for _, name := range fields[1:] {
			if err == nil {
				h.names[canonical(name)] = append(h.names[canonical(name)], addr.Unmap())
			}
		}
	})
	return h.names[name]
}
