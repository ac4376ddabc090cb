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

// lookup is Lookup for a box, which has a share of the places.
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

// join waits with the other boxes that ask the same, or asks as soon as there
// is a place for it. The asking does not end with the box that began it: others
// may wait as well.
func (r *Resolver) join(ctx context.Context, share places, q question) *pending {
	if p := r.waitingFor(q); p != nil {
		return p
	}
	if share != nil {
		// Programs that ask for many names at once wait here: they did nothing
		// wrong, and would take an error for the last word.
		select {
		case share <- struct{}{}:
		case <-ctx.Done():
			return newAnswered(Reply{}, errLate)
		}
	}
	return r.begin(share, q)
}

func (r *Resolver) waitingFor(q question) *pending {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.waiting[q]
}

// begin asks, unless another box has asked meanwhile. The place that was taken
// for it is given back with the answer, or now if it is not needed.
func (r *Resolver) begin(share places, q question) *pending {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.waiting[q]; p != nil {
		share.give()
		return p
	}
	if reply, ok := r.cache.get(q); ok {
		share.give()
		return newAnswered(reply, nil)
	}
	select {
	case r.asking <- struct{}{}:
	default:
		share.give()
		return newAnswered(Reply{}, errTooMany)
	}
	p := &pending{done: make(chan struct{}), place: share}
	r.waiting[q] = p
	go r.ask(q, p)
	return p
}

// newAnswered is a question that has its answer already.
func newAnswered(reply Reply, err error) *pending {
	p := &pending{done: make(chan struct{}), reply: reply, err: err}
	close(p.done)
	return p
}

const (
	// cacheLimit is how many answers are remembered, and cacheBytes how much
	// they take, about.
	cacheLimit = 4096
	cacheBytes = 16 << 20
	// cacheAnswer is how large an answer may be to be remembered: few are
	// larger, and a hostile name server's would push out all others.
	cacheAnswer = 4 << 10
	// recordCost is what a record takes besides its text.
	recordCost = 128
)

// cache remembers answers until their time is over.
type cache struct {
	mu    sync.Mutex
	all   map[question]cached
	bytes int
}

type cached struct {
	reply Reply
	until time.Time
	bytes int
}

// get finds an answer, with the time that it is still good for.
func (c *cache) get(q question) (Reply, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	entry, has := c.all[q]
	left := time.Until(entry.until)
	if !has || left <= 0 {
		return Reply{}, false
	}
	entry.reply.TTL = max(left, ttlLeast)
	return entry.reply, true
}

func (c *cache) put(q question, reply Reply) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil {
		c.all = map[question]cached{}
	}
	c.forget(q)
	wire := wireSize(reply)
	if wire > cacheAnswer {
		return
	}
	bytes := len(q.name) + wire + recordCost*(1+len(reply.Records))
	if len(c.all) >= cacheLimit || c.bytes+bytes > cacheBytes {
		c.makeRoom()
	}
	c.all[q] = cached{reply, time.Now().Add(reply.TTL), bytes}
	c.bytes += bytes
}

// wireSize is how large an answer's records are.
func wireSize(reply Reply) int {
	size := 0
	for _, rr := range reply.Records {
		size += dns.Len(rr)
	}
	return size
}

func (c *cache) forget(q question) {
	c.bytes -= c.all[q].bytes
	delete(c.all, q)
}

// makeRoom forgets what is over, and if that is not enough a part of the rest,
// whichever: an order would cost more than asking again.
func (c *cache) makeRoom() {
	now := time.Now()
	for q, entry := range c.all {
		if entry.until.Before(now) {
			c.forget(q)
		}
	}
	for q := range c.all {
		if len(c.all) <= cacheLimit*3/4 && c.bytes <= cacheBytes*3/4 {
			return
		}
		c.forget(q)
	}
}
