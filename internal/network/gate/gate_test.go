//go:build linux

package gate

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

func TestRawAddressNeedsARule(t *testing.T) {
	f := open(t, "allow good.example\nallow 203.0.113.8/30:7\nallow [2001:db8::/32]:7")
	for _, address := range []string{"203.0.113.9:7", "[2001:db8::9]:7"} {
		f.tcp(address, echo)
		conn, err := f.box.dial("tcp", address)
		if err != nil {
			t.Fatal(address, err)
		}
		io.WriteString(conn, "hi")
		back := make([]byte, 2)
		if _, err := io.ReadFull(conn, back); err != nil || string(back) != "hi" {
			t.Errorf("%s: %q, %v", address, back, err)
		}
		conn.Close()
	}
	for _, address := range []string{"203.0.113.1:7", "203.0.113.9:8", "[2001:db9::1]:7", "169.254.169.254:80", "10.0.0.1:80", "198.18.0.99:80", "198.19.3.3:80", "198.18.0.1:22", "[fd66:6f72:6b00::1]:80", "[fd00::1]:80", "[64:ff9b::a9fe:a9fe]:80"} {
		f.tcp(address, echo)
		_, err := f.box.dial("tcp", address)
		wantRefused(t, err)
		to := netip.MustParseAddrPort(address)
		f.wantRecord(address, func(c forkbox.Conn) bool {
			return c.State == forkbox.ConnRefused && c.Target.Addr == to.Addr() && c.Target.Port == int(to.Port()) && c.Why != ""
		})
	}
	if calls := f.calls(); len(calls) != 2 {
		t.Errorf("the gate called %v", calls)
	}
}

func TestUnreachableHostRefuses(t *testing.T) {
	f := open(t, "allow gone.example")
	f.name("gone.example", "60 A 203.0.113.1")
	_, err := f.dialName("gone.example", 443)
	wantRefused(t, err)
	c := f.wantRecord("the failure", func(c forkbox.Conn) bool { return c.State == forkbox.ConnFailed })
	if !c.Allowed || !strings.Contains(c.Why, "refused") || c.Target.Host != "gone.example" {
		t.Errorf("the record is %+v", c)
	}
}

func TestHostPorts(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			io.WriteString(conn, "the host")
			conn.Close()
		}
	}()
	port := l.Addr().(*net.TCPAddr).Port
	f := open(t, "host-port "+itoa(port))
	conn, err := f.dialName(forkbox.HostName, port)
	if err != nil {
		t.Fatal(err)
	}
	if said, err := io.ReadAll(conn); string(said) != "the host" {
		t.Errorf("got %q, %v", said, err)
	}
	conn.Close()
	f.wantRecord("it", func(c forkbox.Conn) bool {
		return c.Target.Host == forkbox.HostName && c.Target.Port == port && c.State == forkbox.ConnClosed && c.In == 8
	})
	_, err = f.dialName(forkbox.HostName, port%65000+1)
	wantRefused(t, err)
	f.gate.SetPolicy(policy(t, "allow good.example"))
	_, err = f.dialName(forkbox.HostName, port)
	wantRefused(t, err)
}

func TestPolicyThatChanges(t *testing.T) {
	f := open(t, "allow first.example\nallow second.example")
	for i, name := range []string{"first.example", "second.example", "third.example"} {
		f.name(name, "60 A 203.0.113."+itoa(i+1))
		f.tcp("203.0.113."+itoa(i+1)+":7", echo)
	}
	first, err := f.dialName("first.example", 7)
	if err != nil {
		t.Fatal(err)
	}
	second, err := f.dialName("second.example", 7)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.dialName("third.example", 7)
	wantRefused(t, err)
	stale := f.resolve("third.example")
	f.gate.SetPolicy(policy(t, "allow second.example\nallow third.example"))
	if _, err := io.ReadAll(first); err == nil {
		t.Error("what is no longer allowed ended as if by itself")
	}
	c := f.wantRecord("its end", func(c forkbox.Conn) bool { return c.Target.Host == "first.example" && c.State == forkbox.ConnRefused })
	if c.Allowed || c.Why == "" {
		t.Errorf("the record is %+v", c)
	}
	io.WriteString(second, "x\n")
	if _, err := second.Read(make([]byte, 1)); err != nil {
		t.Errorf("what is still allowed: %v", err)
	}
	if _, err = f.dialName("third.example", 7); err != nil {
		t.Errorf("what has come to be allowed: %v", err)
	}
	// A program may have kept the address that the name had when it was refused.
	conn, err := f.box.dial("tcp", netip.AddrPortFrom(stale, 7).String())
	if err != nil {
		t.Fatalf("by its address of before: %v", err)
	}
	conn.Close()
}

func TestConnectionLimit(t *testing.T) {
	f := open(t, "allow 203.0.113.1", func(c *Config) { c.Limits.Connections = 3 })
	f.tcp("203.0.113.1:7", echo)
	var conns []net.Conn
	for range 3 {
		conn, err := f.box.dial("tcp", "203.0.113.1:7")
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
	}
	_, err := f.box.dial("tcp", "203.0.113.1:7")
	wantRefused(t, err)
	f.wantRecord("one too many", func(c forkbox.Conn) bool { return c.State == forkbox.ConnRefused && strings.Contains(c.Why, "limit") })
	if n := f.gate.Stats().Open; n != 3 {
		t.Errorf("%d are open", n)
	}
	conns[0].Close()
	f.wantRecord("an end", func(c forkbox.Conn) bool { return c.State == forkbox.ConnClosed })
	f.gate.SetLimits(Limits{Connections: 4})
	for _, conn := range conns[1:] {
		defer conn.Close()
	}
	for range 2 {
		conn, err := f.box.dial("tcp", "203.0.113.1:7")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
}

func TestHolderIsAskedBeforeTheReset(t *testing.T) {
	var mu sync.Mutex
	asked := map[uint16]bool{}
	f := open(t, "allow 203.0.113.1", func(c *Config) {
		c.Holder = func(proto string, local, _ netip.AddrPort) (forkbox.Who, bool) {
			mu.Lock()
			defer mu.Unlock()
			asked[local.Port()] = true
			return forkbox.Who{Exec: "7", PID: 42, Command: "curl"}, proto == "tcp" && local.Addr() == Box4
		}
	})
	f.tcp("203.0.113.1:7", echo)
	_, err := f.box.dial("tcp", "203.0.113.2:7")
	wantRefused(t, err)
	mu.Lock()
	if len(asked) != 1 {
		t.Errorf("asked for %v when the program heard", asked)
	}
	mu.Unlock()
	conn, err := f.box.dial("tcp", "203.0.113.1:7")
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	for _, state := range []forkbox.ConnState{forkbox.ConnRefused, forkbox.ConnClosed} {
		c := f.wantRecord(string(state), func(c forkbox.Conn) bool { return c.State == state })
		if c.Exec != "7" || c.PID != 42 || c.Command != "curl" {
			t.Errorf("the record is %+v", c)
		}
	}
}

func TestAlikeRefusalsAreOneRecord(t *testing.T) {
	f := open(t, "allow good.example")
	for range 50 {
		_, err := f.box.dial("tcp", "203.0.113.2:7")
		wantRefused(t, err)
	}
	f.gate.Close()
	if got := f.records(); len(got) != 1 || got[0].Times != 50 {
		t.Errorf("the records are %+v", got)
	}
}

func TestCloseEndsEverything(t *testing.T) {
	before := countStacks()
	f := open(t, "allow any:0.0.0.0/0")
	f.tcp("203.0.113.1:7", echo)
	f.udpEcho("203.0.113.1:9")
	f.at("tcp", "203.0.113.2:7", "silence")
	var conns []net.Conn
	for range 20 {
		conn, err := f.box.dial("tcp", "203.0.113.1:7")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conns = append(conns, conn)
		io.WriteString(conn, "x")
		packets := f.dialUDP("203.0.113.1:9")
		packets.Write([]byte("x"))
		packets.Read(make([]byte, 9))
	}
	dialing := make(chan error)
	go func() {
		_, err := f.box.dial("tcp", "203.0.113.2:7")
		dialing <- err
	}()
	for len(f.calls()) < 41 { // 20 of each kind, and the one that hangs
		time.Sleep(time.Millisecond)
	}
	if err := f.gate.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.gate.Close(); err != nil {
		t.Error("a second time:", err)
	}
	if err := <-dialing; err == nil {
		t.Error("what was being connected to is connected")
	}
	for _, conn := range conns {
		if _, err := io.ReadAll(conn); err == nil {
			t.Error("a connection ended as if by itself")
		}
	}
	closed := 0
	for _, c := range f.records() {
		if c.State == forkbox.ConnOpen {
			t.Errorf("it is still open: %+v", c)
		}
		if c.State == forkbox.ConnClosed {
			closed++
		}
	}
	if closed != 40 {
		t.Errorf("%d ended", closed)
	}
	wantNoMore(t, before+boxStacks(f.box))
	if _, err := f.gate.DialIn(context.Background(), Gateway4, "tcp", 1); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a gate that is closed can be dialled: %v", err)
	}
}

func TestTeammates(t *testing.T) {
	gates := map[string]*fixture{}
	var mu sync.Mutex
	peers := func(self string) func(string) (Peer, bool) {
		return func(name string) (Peer, bool) {
			mu.Lock()
			defer mu.Unlock()
			if f := gates[name]; f != nil && name != self {
				return f.gate, true
			}
			return nil, false
		}
	}
	for _, name := range []string{"alice", "bob"} {
		f := open(t, "allow good.example", func(c *Config) {
			c.Box.Name, c.Box.Network.Team, c.Peers = name, "blue", peers(name)
		})
		mu.Lock()
		gates[name] = f
		mu.Unlock()
	}
	alice, bob := gates["alice"], gates["bob"]
	kernel, is := bob.box.(*kernelBox)
	if !is {
		t.Skip("no kernel that something can listen in")
	}
	l := kernel.listen(t, 8000)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		io.WriteString(conn, conn.RemoteAddr().String())
		io.Copy(conn, conn)
		conn.Close()
	}()
	conn, err := alice.dialName("bob", 8000)
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(conn, " hi")
	conn.(interface{ CloseWrite() error }).CloseWrite()
	said, err := io.ReadAll(conn)
	from, _, _ := strings.Cut(string(said), ":")
	if err != nil || from != bob.resolve("alice").String() || !strings.HasSuffix(string(said), " hi") {
		t.Errorf("bob said %q, %v; alice is %v to him", said, err, bob.resolve("alice"))
	}
	alice.wantRecord("bob", func(c forkbox.Conn) bool {
		return c.Target.Host == "bob" && c.Target.Port == 8000 && c.State == forkbox.ConnClosed && c.Rule.Rule == "team blue"
	})
	_, err = alice.dialName("bob", 8001) // no program listens there
	wantRefused(t, err)
	was := alice.resolve("bob")
	mu.Lock()
	delete(gates, "bob")
	mu.Unlock()
	_, err = alice.box.dial("tcp", netip.AddrPortFrom(was, 8000).String())
	wantRefused(t, err)
	if addr := alice.resolve("bob"); addr == was {
		t.Error("a box that is gone still has its address")
	}
}
