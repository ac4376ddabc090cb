//go:build linux

package gate

import (
	"context"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// resolver asks a world.
func (w *world) resolver(change func(*ResolverConfig)) *Resolver {
	cfg := ResolverConfig{Servers: []netip.AddrPort{w.dns}, Hosts: os.DevNull}
	if change != nil {
		change(&cfg)
	}
	return NewResolver(cfg)
}

func TestManyWhoWantToKnowAskOnce(t *testing.T) {
	w := newWorld(t)
	w.name("good.example", "60 A 203.0.113.1")
	r := w.resolver(nil)
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			reply, err := r.Lookup(t.Context(), "good.example", dns.TypeA)
			if err != nil || len(reply.Addrs) != 1 || reply.TTL > time.Minute {
				t.Errorf("got %+v, %v", reply, err)
			}
		})
	}
	all.Wait()
	if n := w.timesAsked("good.example"); n != 1 {
		t.Errorf("the world was asked %d times", n)
	}
}

func TestCacheIsBounded(t *testing.T) {
	var c cache
	for i := range 3 * cacheLimit {
		c.put(question{itoa(i), dns.TypeA}, Reply{TTL: time.Hour})
		if len(c.all) > cacheLimit {
			t.Fatalf("%d are remembered", len(c.all))
		}
	}
	if _, ok := c.get(question{itoa(3*cacheLimit - 1), dns.TypeA}); !ok {
		t.Error("the last is forgotten")
	}
	c.put(question{"old", dns.TypeA}, Reply{TTL: -time.Second})
	if _, ok := c.get(question{"old", dns.TypeA}); ok {
		t.Error("what is over is still known")
	}
}

// TestWrongAnswersAreIgnored has a server that answers wrongly before it answers.
func TestWrongAnswersAreIgnored(t *testing.T) {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	go func() {
		buf := make([]byte, 4096)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			q := new(dns.Msg)
			q.Unpack(buf[:n])
			for _, change := range []func(m *dns.Msg){
				func(m *dns.Msg) { m.Id++ },
				func(m *dns.Msg) { m.Question[0].Name = "other.example." },
				func(m *dns.Msg) { m.Question[0].Qtype = dns.TypeAAAA },
				func(m *dns.Msg) { m.Response = false },
				func(m *dns.Msg) { m.Question = nil },
				nil,
			} {
				m := new(dns.Msg).SetReply(q)
				addr := "203.0.113.66"
				if change == nil {
					addr = "203.0.113.1"
				}
				for _, name := range []string{"good.example.", "unasked.example."} {
					rr, _ := dns.NewRR(name + " 60 IN A " + addr)
					m.Answer = append(m.Answer, rr)
				}
				if change != nil {
					change(m)
				}
				packed, _ := m.Pack()
				conn.WriteTo([]byte("not even a message"), from)
				conn.WriteTo(packed, from)
			}
		}
	}()
	r := NewResolver(ResolverConfig{Servers: []netip.AddrPort{netip.MustParseAddrPort(conn.LocalAddr().String())}, Hosts: os.DevNull})
	reply, err := r.Lookup(t.Context(), "good.example", dns.TypeA)
	if err != nil || len(reply.Addrs) != 1 || reply.Addrs[0].String() != "203.0.113.1" {
		t.Errorf("got %+v, %v", reply, err)
	}
}

func TestNextServerIsAsked(t *testing.T) {
	w := newWorld(t)
	w.name("good.example", "60 A 203.0.113.1")
	dead := netip.MustParseAddrPort("127.0.0.1:1")
	r := w.resolver(func(c *ResolverConfig) { c.Servers = []netip.AddrPort{dead, w.dns} })
	if reply, err := r.Lookup(t.Context(), "good.example", dns.TypeA); err != nil || len(reply.Addrs) != 1 {
		t.Errorf("got %+v, %v", reply, err)
	}
	r = w.resolver(func(c *ResolverConfig) { c.Servers = []netip.AddrPort{dead} })
	if reply, err := r.Lookup(t.Context(), "good.example", dns.TypeA); err == nil {
		t.Errorf("got %+v without a server", reply)
	}
}

func TestHostsOwnFiles(t *testing.T) {
	dir := t.TempDir()
	conf, hosts := filepath.Join(dir, "resolv.conf"), filepath.Join(dir, "hosts")
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(conf, "# comment\nsearch example\nnameserver 192.0.2.1\nnameserver 2001:db8::53 # here\nnameserver bad\n")
	write(hosts, "203.0.113.1 good.example good # comment\n2001:db8::1 GOOD.example.\nbad line\n")
	r := NewResolver(ResolverConfig{ResolvConf: conf, Hosts: hosts, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, os.ErrPermission
	}})
	if got := r.servers.list(); len(got) != 2 || got[0].String() != "192.0.2.1:53" || got[1].String() != "[2001:db8::53]:53" {
		t.Errorf("the servers are %v", got)
	}
	for qtype, want := range map[uint16]string{dns.TypeA: "203.0.113.1", dns.TypeAAAA: "2001:db8::1"} {
		reply, err := r.Lookup(t.Context(), "good.example", qtype)
		if err != nil || len(reply.Addrs) != 1 || reply.Addrs[0].String() != want {
			t.Errorf("got %+v, %v", reply, err)
		}
	}
	write(hosts, "203.0.113.222 good.example\n")
	write(conf, "nameserver 192.0.2.22\n")
	r.hosts.looked, r.servers.looked = time.Time{}, time.Time{}
	if got := r.hosts.addrs("good.example"); len(got) != 1 || got[0].String() != "203.0.113.222" {
		t.Errorf("the file has changed, and the address is %v", got)
	}
	if got := r.servers.list(); len(got) != 1 || got[0].String() != "192.0.2.22:53" {
		t.Errorf("the file has changed, and the servers are %v", got)
	}
}
