//go:build linux

package gate

import (
	"bytes"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

func TestAllowedNameIsRelayedWithHalfClose(t *testing.T) {
	bothBoxes(t, func(t *testing.T, make func(testing.TB) (testBox, *os.File)) {
		before := countStacks()
		f := openWith(t, make, "allow echo.example:7")
		f.name("echo.example", "60 A 203.0.113.1")
		f.tcp("203.0.113.1:7", echo)
		conn, err := f.dialName("echo.example", 7)
		if err != nil {
			t.Fatal(err)
		}
		sent := bytes.Repeat([]byte("\x00some bytes\n"), 200_000)
		go func() {
			conn.Write(sent)
			conn.(interface{ CloseWrite() error }).CloseWrite()
		}()
		got, err := io.ReadAll(conn)
		if err != nil || !bytes.Equal(got, sent) {
			t.Fatalf("got %d bytes of %d back, %v", len(got), len(sent), err)
		}
		conn.Close()
		c := f.wantRecord("the end", func(c forkbox.Conn) bool { return c.State == forkbox.ConnClosed })
		if c.In != int64(len(sent)) || c.Out != int64(len(sent)) || c.Target.Host != "echo.example" || c.Target.Port != 7 || c.Rule.Rule != "allow echo.example:7" || c.Box != "b1" || c.UID != 1000 {
			t.Errorf("the record is %+v", c)
		}
		f.gate.Close()
		wantNoMore(t, before+boxStacks(f.box))
	})
}

func TestServerSpeaksFirst(t *testing.T) {
	f := open(t, "allow ssh.example:22")
	f.name("ssh.example", "60 A 203.0.113.1")
	f.tcp("203.0.113.1:22", func(conn net.Conn) {
		io.WriteString(conn, "SSH-2.0-server\r\n")
		echo(conn)
	})
	conn, err := f.dialName("ssh.example", 22)
	if err != nil {
		t.Fatal(err)
	}
	banner := make([]byte, 16)
	if _, err := io.ReadFull(conn, banner); err != nil || string(banner) != "SSH-2.0-server\r\n" {
		t.Fatalf("got %q, %v", banner, err)
	}
	io.WriteString(conn, "SSH-2.0-client\r\n")
	if _, err := io.ReadFull(conn, banner); err != nil || string(banner) != "SSH-2.0-client\r\n" {
		t.Fatalf("got %q, %v", banner, err)
	}
}

func TestRefusedNameHasNameAndPortOnRecord(t *testing.T) {
	bothBoxes(t, func(t *testing.T, make func(testing.TB) (testBox, *os.File)) {
		f := openWith(t, make, "allow good.example:443")
		f.name("bad.example", "60 A 203.0.113.9")
		_, err := f.dialName("bad.example", 443)
		wantRefused(t, err)
		c := f.wantRecord("bad.example", func(c forkbox.Conn) bool { return c.Target.Host == "bad.example" && c.Target.Proto == "tcp" })
		if c.State != forkbox.ConnRefused || c.Allowed || c.Target.Port != 443 || c.Why == "" || c.Remedy == "" {
			t.Errorf("the record is %+v", c)
		}
		if n := f.timesAsked("bad.example"); n != 0 {
			t.Errorf("the name was asked for outside %d times", n)
		}
		if calls := f.calls(); len(calls) != 0 {
			t.Errorf("the gate called %v", calls)
		}
	})
}

// TestManyConnectionsShareTheMemory has so many open that their buffers become
// smaller than a packet.
func TestManyConnectionsShareTheMemory(t *testing.T) {
	const many = 600
	f := open(t, "allow 203.0.113.1")
	f.tcp("203.0.113.1:7", echo)
	var conns []net.Conn
	for range many {
		conn, err := f.box.dial("tcp", "203.0.113.1:7")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conn.SetDeadline(time.Now().Add(5 * time.Minute))
		conns = append(conns, conn)
	}
	sent := bytes.Repeat([]byte("\x00all that"), 20_000)
	var all sync.WaitGroup
	for _, conn := range conns {
		go func() {
			conn.Write(sent)
			conn.(interface{ CloseWrite() error }).CloseWrite()
		}()
		all.Go(func() {
			if back, err := io.ReadAll(conn); err != nil || !bytes.Equal(back, sent) {
				t.Errorf("%d bytes of %d came back, %v", len(back), len(sent), err)
			}
		})
	}
	all.Wait()
	if s := f.gate.Stats(); s.In != many*int64(len(sent)) || s.Out != s.In {
		t.Errorf("the gate counted %+v", s)
	}
}
