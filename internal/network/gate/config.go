package gate

import (
	"context"
	"net"
	"net/netip"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/forkbox/forkbox"
)

// Policy decides what a box may reach. rules.Policy is one.
type Policy interface {
	// Name says whether any connection to a name could be allowed: only then
	// is it asked for outside.
	Name(host string) forkbox.NetVerdict
	// Denies finds the rule that names a host in order to deny it.
	Denies(host string) (forkbox.NetRule, bool)
	// Connect decides about a connection or session. Without Host it is by
	// address alone.
	Connect(t forkbox.NetTarget) forkbox.NetVerdict
	// Answer says whether an address may be given out for a name.
	Answer(host string, addr netip.Addr) bool
	// Request decides about one HTTP request.
	Request(t forkbox.NetTarget) forkbox.NetVerdict
	// Terminates says whether TLS to a host ends at the gate.
	Terminates(host string, port int) bool
	// NeedsRequests says whether only some requests to a host may pass: what is
	// not HTTP, or what the gate cannot look into, must not.
	NeedsRequests(host string, port int) bool
	// HostPort says whether the box may reach a port of the host's loopback.
	HostPort(port int) bool
}

// Config is what a gate is made of.
type Config struct {
	// Box is for records: its ID, Name and Owner.
	Box forkbox.Box
	// Device is the box's TUN device, non-blocking, without packet
	// information: each read and write is one IP packet. The gate closes it.
	Device *os.File
	Policy Policy
	// Resolver asks outside for names. Gates of one daemon share it.
	Resolver *Resolver
	// Dial reaches the real world; a net.Dialer if nil. network is "tcp" or
	// "udp", and address is always an address with a port.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Host reaches a port of the host's loopback; 127.0.0.1, then ::1, if nil.
	Host func(ctx context.Context, port int) (net.Conn, error)
	// Record hears of every attempt when it is decided, and again with the
	// same ID when what was allowed has ended or a refused one was repeated. It
	// should not block long.
	Record func(forkbox.Conn)
	// NextID numbers records.
	NextID func() int64
	// Decided hears of every attempt, whether it was allowed, also of those that
	// have no record of their own. May be nil.
	Decided func(allowed bool)
	// Holder tells which process has a socket; nil if that cannot be told.
	Holder func(proto string, local, remote netip.AddrPort) (forkbox.Who, bool)
	// Peers finds a teammate by its box's name; nil without a team.
	Peers func(name string) (Peer, bool)
	// Intercept takes over connections whose TLS ends at the gate, and those
	// that speak HTTP/1 without TLS, where each request names a host. It returns
	// when the connection has ended. If it is nil, only the first request of a
	// connection is checked and the rest is relayed.
	Intercept func(conn net.Conn, m Meta)
	Limits    Limits
}

// Limits are how much of the network a box may use.
type Limits struct {
	Bandwidth   int64 // bytes per second, each way; 0 is no limit
	Connections int   // open at once, sessions of UDP included; 0 is 4096
}

// Peer is a teammate's gate. A *Gate is one.
type Peer interface {
	// DialPeer connects to a port of the box, from the box named from.
	DialPeer(ctx context.Context, from, network string, port int) (net.Conn, error)
}

// Meta is what an interceptor knows of a connection.
type Meta struct {
	// Host is the name that the ClientHello's SNI or the first request's Host
	// said, and that the address was given out for.
	Host string
	Addr netip.AddrPort
	// TLS says that the client begins with a ClientHello.
	TLS bool
	// Dial connects to that very address, with bytes counted and limited. The
	// first call uses the connection that the gate made already.
	Dial func(ctx context.Context) (net.Conn, error)
	// Record is for requests that are refused: each is an attempt by itself.
	Record func(forkbox.NetVerdict)
}

// Stats is what a gate holds and has done.
type Stats struct {
	Open      int   // connections and sessions
	In        int64 // bytes to the box, over all that have ended or are open
	Out       int64 // bytes from it
	Memory    int64 // bytes held for open connections, about, without what the box has yet to take
	Dropped   int64 // packets that were not even looked at or answered
	HalfOpen  int64 // attempts that were ignored because too many were under way
	Pins      int
	StandIns  int
	Questions int64 // asked of the box's name server
}

// withDefaults fills in what was not said.
func (c Config) withDefaults() Config {
	if c.Dial == nil {
		c.Dial = dialWorld
	}
	if c.Host == nil {
		c.Host = dialLoopback
	}
	if c.Record == nil {
		c.Record = func(forkbox.Conn) {}
	}
	if c.NextID == nil {
		var last atomic.Int64
		c.NextID = func() int64 { return last.Add(1) }
	}
	return c
}

// dialLoopback reaches a service of the host's, on whichever loopback it listens.
func dialLoopback(ctx context.Context, port int) (net.Conn, error) {
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err == nil {
		return conn, nil
	}
	other, err6 := dialer.DialContext(ctx, "tcp", net.JoinHostPort("::1", strconv.Itoa(port)))
	if err6 != nil {
		return nil, err
	}
	return other, nil
}

// Stats is what the gate holds and has done.
func (g *Gate) Stats() Stats {
	s := Stats{
		Open:      int(g.open.Load()),
		In:        g.in.Load(),
		Out:       g.out.Load(),
		Dropped:   g.link.dropped.Load(),
		Pins:      g.pins.count(),
		StandIns:  g.stands.count(),
		Questions: g.names.asked.Load(),
	}
	if stack := g.stack.Load(); stack != nil {
		s.HalfOpen = int64(stack.Stats().TCP.ForwardMaxInFlightDrop.Value())
	}
	for _, f := range g.flows.list() {
		s.In += f.in.Load()
		s.Out += f.out.Load()
		s.Memory += f.held()
	}
	s.Memory += g.lent.Load()
	return s
}
