//go:build linux

package gate

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/network/rules"
	"github.com/miekg/dns"
)

// world is what a gate finds outside: servers at public addresses, which are
// really listeners on the loopback, and names. It knows which were called.
type world struct {
	t       testing.TB
	mu      sync.Mutex
	servers map[string]string // "tcp 203.0.113.1:443" to where it really is
	called  []string
	zone    map[string][]dns.RR
	asked   map[string]int
	dns     netip.AddrPort
}

func newWorld(t testing.TB) *world {
	w := &world{t: t, servers: map[string]string{}, zone: map[string][]dns.RR{}, asked: map[string]int{}}
	packets, stream := samePort(t)
	w.dns = netip.MustParseAddrPort(stream.Addr().String())
	for _, server := range []*dns.Server{{PacketConn: packets, Handler: w}, {Listener: stream, Handler: w}} {
		go server.ActivateAndServe()
		t.Cleanup(func() { server.Shutdown() })
	}
	return w
}

// samePort listens for datagrams and connections on one port.
func samePort(t testing.TB) (net.PacketConn, net.Listener) {
	t.Helper()
	for range 50 {
		stream, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		if packets, err := net.ListenPacket("udp", stream.Addr().String()); err == nil {
			return packets, stream
		}
		stream.Close()
	}
	t.Fatal("no port is free for both")
	return nil, nil
}

// name adds records in the zone file's notation: name("a.example", "60 A 203.0.113.1").
func (w *world) name(name string, records ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.zone[name] = nil
	for _, r := range records {
		ttl, rest, _ := strings.Cut(r, " ")
		rr, err := dns.NewRR(name + ". " + ttl + " IN " + rest)
		if err != nil {
			w.t.Fatal(err)
		}
		w.zone[name] = append(w.zone[name], rr)
	}
}

// ServeDNS answers as a recursive server does: aliases are followed.
func (w *world) ServeDNS(to dns.ResponseWriter, q *dns.Msg) {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := new(dns.Msg).SetReply(q)
	name := canonical(q.Question[0].Name)
	w.asked[name]++
	if _, has := w.zone[name]; !has {
		m.Rcode = dns.RcodeNameError
	}
	for range 8 {
		next := ""
		for _, rr := range w.zone[name] {
			if cname, is := rr.(*dns.CNAME); is {
				next = canonical(cname.Target)
				m.Answer = append(m.Answer, rr)
			} else if rr.Header().Rrtype == q.Question[0].Qtype {
				m.Answer = append(m.Answer, rr)
			}
		}
		name = next
	}
	if _, udp := to.RemoteAddr().(*net.UDPAddr); udp {
		m.Truncate(sizeFor(q))
	}
	to.WriteMsg(m)
}

func (w *world) timesAsked(name string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.asked[name]
}

func (w *world) askedAny(suffix string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for name, times := range w.asked {
		if strings.HasSuffix(name, suffix) {
			n += times
		}
	}
	return n
}

// dial is the gate's way out.
func (w *world) dial(ctx context.Context, network, address string) (net.Conn, error) {
	w.mu.Lock()
	w.called = append(w.called, network+" "+address)
	at, has := w.servers[network+" "+address]
	w.mu.Unlock()
	switch {
	case !has:
		return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
	case at == "silence":
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return new(net.Dialer).DialContext(ctx, network, at)
}

func (w *world) calls() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.called)
}

// tcp has a server at an address.
func (w *world) tcp(address string, serve func(net.Conn)) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { l.Close() })
	w.at("tcp", address, l.Addr().String())
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				serve(conn)
			}()
		}
	}()
}

func (w *world) at(network, address, really string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.servers[network+" "+address] = really
}

// echo sends back what it gets, to the end.
func echo(conn net.Conn) {
	io.Copy(conn, conn)
	conn.(*net.TCPConn).CloseWrite()
}

// udpEcho has a server that sends datagrams back.
func (w *world) udpEcho(address string) {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { conn.Close() })
	w.at("udp", address, conn.LocalAddr().String())
	go func() {
		buf := make([]byte, 1<<16)
		for {
			n, from, err := conn.ReadFrom(buf)
			if errors.Is(err, net.ErrClosed) {
				return
			}
			conn.WriteTo(buf[:n], from)
		}
	}()
}

// fixture is a gate between a box and a world, with all that it recorded.
type fixture struct {
	*world
	t    testing.TB
	box  testBox
	gate *Gate
	mu   sync.Mutex
	recs []forkbox.Conn
	last int64
}

// open makes a gate with these rules.
func open(t testing.TB, rules string, change ...func(*Config)) *fixture {
	t.Helper()
	return openWith(t, newBox, rules, change...)
}

func openWith(t testing.TB, makeBox func(testing.TB) (testBox, *os.File), rules string, change ...func(*Config)) *fixture {
	t.Helper()
	f := &fixture{t: t, world: newWorld(t)}
	var device *os.File
	f.box, device = makeBox(t)
	cfg := Config{
		Box:      forkbox.Box{ID: "b1", Name: "mine", Owner: forkbox.Owner{UID: 1000}},
		Device:   device,
		Policy:   policy(t, rules),
		Resolver: NewResolver(ResolverConfig{Servers: []netip.AddrPort{f.world.dns}, Hosts: "/dev/null"}),
		Dial:     f.world.dial,
		Record:   f.record,
		NextID:   f.next,
	}
	for _, c := range change {
		c(&cfg)
	}
	var err error
	if f.gate, err = Open(cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.gate.Close() })
	return f
}

// policy is what the rules in text, one per line, make; "host-port N" is among them.
func policy(t testing.TB, text string) Policy {
	t.Helper()
	var list []forkbox.NetRule
	var opts rules.Options
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if strings.HasPrefix(line, "host-port ") {
			opts.HostPorts = append(opts.HostPorts, number(t, line[10:]))
			continue
		}
		list = append(list, forkbox.NetRule{Rule: line, From: "box"})
	}
	p, err := rules.New(list, nil, opts)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (f *fixture) next() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last++
	return f.last
}

func (f *fixture) record(c forkbox.Conn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.recs = append(f.recs, c)
}

// records is the latest of each record.
func (f *fixture) records() []forkbox.Conn {
	f.mu.Lock()
	defer f.mu.Unlock()
	at := map[int64]int{}
	var latest []forkbox.Conn
	for _, c := range f.recs {
		if i, has := at[c.ID]; has {
			latest[i] = c
			continue
		}
		at[c.ID] = len(latest)
		latest = append(latest, c)
	}
	return latest
}

// wantRecord waits for a record that matches.
func (f *fixture) wantRecord(what string, match func(c forkbox.Conn) bool) forkbox.Conn {
	f.t.Helper()
	for range 6000 { // a minute: it only takes so long when a test fails
		for _, c := range f.records() {
			if match(c) {
				return c
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	f.t.Fatalf("no record of %s among %+v", what, f.records())
	return forkbox.Conn{}
}

func number(t testing.TB, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// lookup asks the box's name server.
func (f *fixture) lookup(name string, qtype uint16) *dns.Msg {
	f.t.Helper()
	return f.ask("udp", netip.AddrPortFrom(Gateway4, dnsPort).String(), new(dns.Msg).SetQuestion(dns.Fqdn(name), qtype))
}

func (f *fixture) ask(network, server string, q *dns.Msg) *dns.Msg {
	f.t.Helper()
	conn, err := f.box.dial(network, server)
	if err != nil {
		f.t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Minute))
	m, err := exchange(conn, network, q)
	if err != nil {
		f.t.Fatal(err)
	}
	return m
}

// exchange asks over a connection of any kind.
func exchange(conn net.Conn, network string, q *dns.Msg) (*dns.Msg, error) {
	packed, err := q.Pack()
	if err != nil {
		return nil, err
	}
	if network == "tcp" {
		packed = append(binary.BigEndian.AppendUint16(nil, uint16(len(packed))), packed...)
	}
	if _, err := conn.Write(packed); err != nil {
		return nil, err
	}
	answer := make([]byte, dns.MaxMsgSize)
	if network == "tcp" {
		if _, err := io.ReadFull(conn, answer[:2]); err != nil {
			return nil, err
		}
		answer = answer[:binary.BigEndian.Uint16(answer)]
		_, err = io.ReadFull(conn, answer)
	} else {
		var n int
		n, err = conn.Read(answer)
		answer = answer[:n]
	}
	if err != nil {
		return nil, err
	}
	m := new(dns.Msg)
	return m, m.Unpack(answer)
}

// resolve is the first IPv4 address of a name.
func (f *fixture) resolve(name string) netip.Addr {
	f.t.Helper()
	for _, rr := range f.lookup(name, dns.TypeA).Answer {
		if a, is := rr.(*dns.A); is {
			addr, _ := netip.AddrFromSlice(a.A.To4())
			return addr
		}
	}
	f.t.Fatalf("%s has no address", name)
	return netip.Addr{}
}

// dialName resolves and connects, as programs do.
func (f *fixture) dialName(name string, port int) (net.Conn, error) {
	f.t.Helper()
	conn, err := f.box.dial("tcp", netip.AddrPortFrom(f.resolve(name), uint16(port)).String())
	if err == nil {
		conn.SetDeadline(time.Now().Add(20 * time.Second))
		f.t.Cleanup(func() { conn.Close() })
	}
	return conn, err
}

func itoa(n int) string { return strconv.Itoa(n) }
