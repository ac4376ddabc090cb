//go:build linux

package gate

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

func TestPinsLast(t *testing.T) {
	now := time.Now()
	p := newPins()
	p.now = func() time.Time { return now }
	addr := netip.MustParseAddr("203.0.113.1")
	p.add(addr, "short.example", time.Second)
	p.add(addr, "long.example", time.Hour)
	want := func(names ...string) {
		t.Helper()
		if got := p.names(addr); fmt.Sprint(got) != fmt.Sprint(names) {
			t.Errorf("got %v, want %v", got, names)
		}
	}
	want("long.example", "short.example")
	p.add(addr, "short.example", time.Second)
	want("short.example", "long.example")
	now = now.Add(pinLeast - time.Second)
	want("short.example", "long.example")
	release := p.hold(addr)
	now = now.Add(2 * time.Hour)
	want("short.example", "long.example") // a connection is open
	release()
	want()
}

func TestPinsAreBounded(t *testing.T) {
	p := newPins()
	at := func(i int) netip.Addr { return netip.AddrFrom4([4]byte{203, byte(i >> 16), byte(i >> 8), byte(i)}) }
	p.add(at(0), "held.example", time.Hour)
	defer p.hold(at(0))()
	for i := range 2 * pinLimit {
		p.add(at(i+1), "name.example", time.Hour)
	}
	if n := p.count(); n > pinLimit {
		t.Errorf("%d addresses are pinned", n)
	}
	if !p.has(at(0), "held.example") || !p.has(at(2*pinLimit), "name.example") || p.has(at(1), "name.example") {
		t.Error("the wrong ones went")
	}
	for i := range 10 * pinNames {
		p.add(at(0), itoa(i)+".example", time.Hour)
	}
	if n := len(p.names(at(0))); n != pinNames {
		t.Errorf("an address has %d names", n)
	}
}

func TestStandInsAreBounded(t *testing.T) {
	s := newStandIns()
	mate := s.giveToMate("bob")
	seen := map[netip.Addr]bool{mate: true}
	for i := range 2 * standLast {
		addr := s.giveToRefused(itoa(i)+".example", netip.Addr{}, nil)
		if stand, found := s.find(addr); !found || stand.name != itoa(i)+".example" || stand.mate || !pool.Contains(addr) {
			t.Fatalf("%v stands for %+v", addr, stand)
		}
		seen[addr] = true
	}
	if s.count() > standInLimit+1 {
		t.Errorf("%d addresses are given out", s.count())
	}
	if stand, found := s.find(mate); !found || stand.name != "bob" || s.giveToMate("bob") != mate {
		t.Error("the teammate's was used again")
	}
	if again := s.giveToRefused("0.example", netip.Addr{}, nil); s.giveToRefused("0.example", netip.Addr{}, nil) != again {
		t.Error("a name has two addresses")
	}
	for i := range 2 * mateLast {
		s.giveToMate("box" + itoa(i))
	}
	if s.giveToMate("one more").IsValid() {
		t.Error("there is no end of teammates")
	}
}

func TestDifferentRefusalsAreBounded(t *testing.T) {
	var recorded []forkbox.Conn
	l := newLog(&Config{NextID: func() int64 { return 1 }, Record: func(c forkbox.Conn) { recorded = append(recorded, c) }})
	for i := range 50 * foldLimit {
		l.refuse(forkbox.NetVerdict{Target: forkbox.NetTarget{Proto: "tcp", Port: i}, Why: "no " + itoa(i%9)}, nil)
		l.noteLookup(forkbox.NetVerdict{Target: forkbox.NetTarget{Proto: "dns", Host: itoa(i)}})
	}
	if len(l.folds) > foldLimit+64 || len(l.lookups) > lookupLimit+1 {
		t.Errorf("%d and %d are kept", len(l.folds), len(l.lookups))
	}
	l.close()
	if len(recorded) > foldLimit+128+lookupLimit {
		t.Errorf("%d records", len(recorded))
	}
}

func TestThrottle(t *testing.T) {
	b := newThrottle(100_000)
	owed := func(n int) (total time.Duration) {
		for n > 0 {
			piece, delay, _ := b.owe(n)
			if piece > 5000 {
				t.Errorf("%d at once", piece)
			}
			n, total = n-piece, delay
		}
		return total
	}
	if d := owed(100_000); d != 0 {
		t.Errorf("a second's worth at once takes %v", d)
	}
	if d := owed(200_000); d < 1500*time.Millisecond || d > 2*time.Second {
		t.Errorf("two seconds' worth more take %v", d)
	}
	if b.take(1) {
		t.Error("there is more than there is")
	}
	b.last = b.last.Add(-time.Hour)
	if !b.take(100_000) || b.take(50_000) {
		t.Errorf("after an hour there are %v left", b.left)
	}
	b.set(0)
	if n, d, _ := b.owe(1 << 40); n != 1<<40 || d != 0 || !b.take(1<<40) {
		t.Errorf("without a limit it takes %v", d)
	}
}

func TestBandwidthLimitHoldsUntilItIsLifted(t *testing.T) {
	for _, way := range []string{"up", "down"} {
		f := open(t, "allow 203.0.113.1", func(c *Config) { c.Limits.Bandwidth = 1 })
		f.tcp("203.0.113.1:7", echo)
		conn, err := f.box.dial("tcp", "203.0.113.1:7")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if way == "down" {
			f.gate.up.set(0)
		}
		sent := make([]byte, 100_000)
		go conn.Write(sent)
		stats := func() Stats { return f.gate.Stats() }
		for way == "down" && stats().Out < int64(len(sent)) {
			time.Sleep(time.Millisecond)
		}
		if s := stats(); s.In > leastPiece || way == "up" && s.Out > leastPiece {
			t.Errorf("%s: at a byte a second %+v went through", way, s)
		}
		f.gate.SetLimits(Limits{})
		if n, err := io.ReadFull(conn, make([]byte, len(sent))); err != nil {
			t.Errorf("%s: once it is lifted %d bytes come, %v", way, n, err)
		}
	}
}

// TestUnreadConnectionsHoldLittle has a server say more than the box ever reads,
// on so many connections that a large buffer for each would be too much.
func TestUnreadConnectionsHoldLittle(t *testing.T) {
	const many = 700
	f := open(t, "allow 203.0.113.1")
	f.tcp("203.0.113.1:80", func(conn net.Conn) {
		said := make([]byte, 1<<20)
		for {
			if _, err := conn.Write(said); err != nil {
				return
			}
		}
	})
	var conns []net.Conn
	for range many {
		conn, err := f.box.dial("tcp", "203.0.113.1:80")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conns = append(conns, conn)
		io.WriteString(conn, "x\n")
	}
	const most = 64*256<<10 + 448*32<<10 + (many-512)*8<<10
	for range 500 { // until nothing is taken any more
		before := f.gate.Stats().In
		time.Sleep(20 * time.Millisecond)
		lent := f.gate.lent.Load()
		if lent > 2*most {
			t.Fatalf("%d bytes are lent to %d connections", lent, len(conns))
		}
		if f.gate.Stats().In == before {
			break
		}
	}
	s := f.gate.Stats()
	if lent := f.gate.lent.Load(); lent > most || lent < many*8<<10 || s.Memory < lent {
		t.Errorf("%d bytes are lent, and the gate says %+v", lent, s)
	}
}

func TestBuffersAreGivenBack(t *testing.T) {
	f := open(t, "allow 203.0.113.1")
	f.tcp("203.0.113.1:7", echo)
	conn, err := f.box.dial("tcp", "203.0.113.1:7")
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(conn, "all that\n")
	io.ReadFull(conn, make([]byte, 9))
	conn.Close()
	f.gate.Close()
	if lent := f.gate.lent.Load(); lent != 0 {
		t.Errorf("%d bytes are still lent", lent)
	}
}
