package gate

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
	place places // that it takes until it is answered
	reply Reply
	err   error
}

// places are how many questions one asker may have on their way; nil for as many
// as there are.
type places chan struct{}

func (p places) give() {
	if p != nil {
		<-p
	}
}

// Reply is what the world says about a name.
type Reply struct {
	Rcode   int
	Addrs   []netip.Addr
	Aliases []string // on the way to the addresses
	Records []dns.RR
	TTL     time.Duration
}

const (
	// upstreamLimit is how many questions are on their way for the whole daemon.
	upstreamLimit = 512
	// upstreamShare is how many of them are one gate's: servers that never answer
	// keep a place for seconds, and a box can ask for as many of their names as
	// it likes.
	upstreamShare = 32
)

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
	return r.lookup(ctx, nil, question{name, qtype})
}

// lookup is Lookup for somebody who has only so many places.
func (r *Resolver) lookup(ctx context.Context, share places, q question) (Reply, error) {
	if addrs := r.hosts.addrs(q.name); len(addrs) > 0 && (q.qtype == dns.TypeA || q.qtype == dns.TypeAAAA) {
		return Reply{Addrs: ofType(addrs, q.qtype), TTL: time.Minute}, nil
	}
	if reply, ok := r.cache.get(q); ok {
		return reply, nil
	}
	p := r.join(ctx, share, q)
	select {
	case <-p.done:
		return p.reply, p.err
	case <-ctx.Done():
		return Reply{}, errLate
	}
}

var (
	errLate    = errors.New("no answer came in time")
	errTooMany = errors.New("too many names are being asked for")
)

// ask asks, and ends what waits for it.

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
	p.place.give()
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
