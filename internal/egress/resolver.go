package egress

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/miekg/dns"
)

// ResolverConfig says whom a Resolver asks.
type ResolverConfig struct {
	// Servers are asked in turn; if there are none, those of ResolvConf.
	Servers []netip.AddrPort
	// ResolvConf and Hosts are read again when they change; those of the host if
	// empty.
	ResolvConf string
	Hosts      string
	// Dial reaches a server; a net.Dialer if nil.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Resolver asks the world for names, for all gates of a daemon. It remembers
// answers as long as they are good for, and asks once where many want to know.
type Resolver struct {
	cfg     ResolverConfig
	servers serverFile
	hosts   hostsFile
	cache   cache
	asking  chan struct{}
	mu      sync.Mutex
	waiting map[question]*pending
}

type question struct {
	name  string
	qtype uint16
}

type pending struct {
	done  chan struct{}
	reply Reply
	err   error
}

// Reply is what the world says about a name.
type Reply struct {
	Rcode   int
	Addrs   []netip.Addr
	Aliases []string // on the way to the addresses
	Records []dns.RR
	TTL     time.Duration
}

// upstreamLimit is how many questions are on their way for the whole daemon.
const upstreamLimit = 512

// NewResolver makes one.
func NewResolver(cfg ResolverConfig) *Resolver {
	if cfg.Dial == nil {
		cfg.Dial = new(net.Dialer).DialContext
	}
	if cfg.ResolvConf == "" {
		cfg.ResolvConf = "/etc/resolv.conf"
	}
	if cfg.Hosts == "" {
		cfg.Hosts = "/etc/hosts"
	}
	return &Resolver{
		cfg:     cfg,
		servers: serverFile{watched: watched{path: cfg.ResolvConf}},
		hosts:   hostsFile{watched: watched{path: cfg.Hosts}},
		asking:  make(chan struct{}, upstreamLimit),
		waiting: map[question]*pending{},
	}
}

// Lookup finds what there is of one type for a name, which has no dot at its end.
func (r *Resolver) Lookup(ctx context.Context, name string, qtype uint16) (Reply, error) {
	if addrs := r.hosts.addrs(name); len(addrs) > 0 && (qtype == dns.TypeA || qtype == dns.TypeAAAA) {
		return Reply{Addrs: ofType(addrs, qtype), TTL: time.Minute}, nil
	}
	q := question{name, qtype}
	if reply, ok := r.cache.get(q); ok {
		return reply, nil
	}
	p := r.join(q)
	select {
	case <-p.done:
		return p.reply, p.err
	case <-ctx.Done():
		return Reply{}, errors.New("no answer came in time")
	}
}

// join waits with others who want to know the same, or has it asked. The asking
// does not end with the box that began it: others may wait as well.
func (r *Resolver) join(q question) *pending {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.waiting[q]; p != nil {
		return p
	}
	p := &pending{done: make(chan struct{})}
	select {
	case r.asking <- struct{}{}:
		r.waiting[q] = p
		go r.ask(q, p)
	default:
		p.err = errors.New("too many names are being asked for")
		close(p.done)
	}
	return p
}

func (r *Resolver) ask(q question, p *pending) {
	ctx, cancel := context.WithTimeout(context.Background(), answerTime)
	defer cancel()
	p.reply, p.err = r.upstream(ctx, q)
	if p.err == nil {
		r.cache.put(q, p.reply)
	}
	r.mu.Lock()
	delete(r.waiting, q)
	r.mu.Unlock()
	<-r.asking
	close(p.done)
}

// ofType are the addresses that a question of a type is about.
func ofType(addrs []netip.Addr, qtype uint16) []netip.Addr {
	var of []netip.Addr
	for _, a := range addrs {
		if a.Is4() == (qtype == dns.TypeA) {
			of = append(of, a)
		}
	}
	return of
}
