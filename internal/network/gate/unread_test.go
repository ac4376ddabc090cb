//go:build linux

package gate

import (
	"io"
	"net"
	"testing"
	"time"
)

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
	for range 500 { // until nobody takes anything any more
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
