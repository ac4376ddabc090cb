//go:build linux

package gate

import (
	"bytes"
	"errors"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

func TestUDPNeedsARuleOfItsOwn(t *testing.T) {
	bothBoxes(t, func(t *testing.T, makeBox func(testing.TB) (testBox, *os.File)) {
		f := openWith(t, makeBox, "allow udp:time.example:123\nallow web.example:443")
		f.name("time.example", "60 A 203.0.113.1")
		f.name("web.example", "60 A 203.0.113.2")
		f.udpEcho("203.0.113.1:123")
		f.udpEcho("203.0.113.2:443")
		f.resolve("time.example")
		f.resolve("web.example")
		conn := f.dialUDP("203.0.113.1:123")
		for _, size := range []int{1, 0, 1400, 60000} {
			sent := bytes.Repeat([]byte("x"), size)
			if _, err := conn.Write(sent); err != nil {
				t.Fatal(err)
			}
			back := make([]byte, 1<<16)
			n, err := conn.Read(back)
			if err != nil || n != size {
				t.Errorf("of %d bytes %d came back, %v", size, n, err)
			}
		}
		quic := f.dialUDP("203.0.113.2:443")
		quic.Write([]byte("quic"))
		if isStack(f) { // this one does not tell programs what ICMP says
			quic.SetReadDeadline(time.Now())
		}
		if _, err := quic.Read(make([]byte, 10)); !isStack(f) && !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("QUIC where only TCP is allowed: %v", err)
		}
		c := f.wantRecord("QUIC", func(c forkbox.Conn) bool { return c.Target.Host == "web.example" })
		if c.Target.Proto != "udp" || c.Target.Port != 443 || c.State != forkbox.ConnRefused {
			t.Errorf("the record is %+v", c)
		}
		f.gate.Close()
		c = f.wantRecord("the session", func(c forkbox.Conn) bool { return c.Target.Host == "time.example" && c.State == forkbox.ConnClosed })
		if c.In != 61401 || c.Out != 61401 {
			t.Errorf("the record is %+v", c)
		}
		if calls := f.calls(); len(calls) != 1 {
			t.Errorf("the gate called %v", calls)
		}
	})
}

func (f *fixture) dialUDP(address string) net.Conn {
	f.t.Helper()
	conn, err := f.box.dial("udp", address)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	return conn
}

func TestOtherNameServersAreRefused(t *testing.T) {
	f := open(t, "allow good.example")
	f.udpEcho("203.0.113.53:53")
	f.tcp("203.0.113.53:53", echo)
	f.tcp("203.0.113.53:853", echo)
	conn := f.dialUDP("203.0.113.53:53")
	conn.Write([]byte("question"))
	if _, err := conn.Read(make([]byte, 10)); !errors.Is(err, syscall.ECONNREFUSED) && !isStack(f) {
		t.Errorf("got %v", err)
	}
	for _, address := range []string{"203.0.113.53:53", "203.0.113.53:853", "[2001:db8::53]:53"} {
		_, err := f.box.dial("tcp", address)
		wantRefused(t, err)
	}
	for _, proto := range []string{"udp", "tcp"} {
		f.wantRecord(proto, func(c forkbox.Conn) bool {
			return c.Target.Proto == proto && c.Target.Port == 53 && c.State == forkbox.ConnRefused && c.Target.Addr.String() == "203.0.113.53"
		})
	}
	if calls := f.calls(); len(calls) != 0 {
		t.Errorf("the gate called %v", calls)
	}
}

func isStack(f *fixture) bool { _, is := f.box.(*stackBox); return is }

func TestIdleSessionEnds(t *testing.T) {
	f := open(t, "allow udp:203.0.113.1")
	f.udpEcho("203.0.113.1:9")
	f.gate.idle = 50 * time.Millisecond
	conn := f.dialUDP("203.0.113.1:9")
	conn.Write([]byte("x"))
	conn.Read(make([]byte, 10))
	f.wantRecord("the end", func(c forkbox.Conn) bool { return c.State == forkbox.ConnClosed && c.In == 1 && c.Out == 1 })
	if n := f.gate.sessions.Load(); n != 0 {
		t.Errorf("%d sessions are left", n)
	}
}

func TestSessionsAreBounded(t *testing.T) {
	f := open(t, "allow udp:203.0.113.1")
	f.udpEcho("203.0.113.1:9")
	f.gate.sessions.Store(sessionLimit)
	conn := f.dialUDP("203.0.113.1:9")
	conn.Write([]byte("x"))
	f.wantRecord("one too many", func(c forkbox.Conn) bool { return c.State == forkbox.ConnRefused && c.Target.Port == 9 })
	if n := f.gate.open.Load(); n != 0 {
		t.Errorf("%d places are taken", n)
	}
}
