package ingress

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

// patience bounds what a test waits for when something is broken. Nothing
// depends on it otherwise.
const patience = 20 * time.Second

// newIngress makes one that is shut down with the test, and fails the test if
// it leaves a goroutine behind.
func newIngress(t *testing.T, c Config) *Ingress {
	t.Helper()
	before := runtime.NumGoroutine()
	if c.URLs == "" {
		c.URLs = "127.0.0.1:0"
	}
	c.UID = try.Owner.UID
	i := New(c)
	t.Cleanup(func() {
		i.Shutdown()
		http.DefaultClient.CloseIdleConnections()
		eventually(t, "the goroutines to end", func() bool { return runtime.NumGoroutine() <= before })
		if n := i.all.open.Load(); n != 0 {
			t.Errorf("%d places for connections were not given back", n)
		}
	})
	return i
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("waited in vain for %s\n%s", what, stacks[:runtime.Stack(stacks, true)])
		}
	}
}

func aBox(id, name string, uid int) forkbox.Box {
	return forkbox.Box{ID: id, Name: name, Owner: forkbox.Owner{UID: uid}}
}

var try = aBox("1a2b3c4d5e6f", "try", 1000)

// server listens as one in a box would, and says how to get there. It counts
// the connections.
type server struct {
	net.Listener
	dials atomic.Int64
}

func listening(t *testing.T) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return &server{Listener: l}
}

func (s *server) dial(ctx context.Context, _ int) (net.Conn, error) {
	s.dials.Add(1)
	return new(net.Dialer).DialContext(ctx, "tcp", s.Addr().String())
}

// serving has a handler per connection.
func serving(t *testing.T, handle func(*net.TCPConn)) *server {
	s := listening(t)
	go func() {
		for {
			c, err := s.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				handle(c.(*net.TCPConn))
			}()
		}
	}()
	return s
}

func echo(c *net.TCPConn) { _, _ = io.Copy(c, c) }

// nobody is how to get to a port that nothing listens on.
func nobody(t *testing.T) Dial {
	s := listening(t)
	s.Close()
	return s.dial
}

func connect(t *testing.T, host string, port int) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(patience))
	return c.(*net.TCPConn)
}

// wantReset reads until the connection breaks.
func wantReset(t *testing.T, c net.Conn) {
	t.Helper()
	_, err := io.Copy(io.Discard, c)
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Fatalf("the connection ended with %v, not with a reset", err)
	}
}

// wantRefused connects and is reset: at once, or while it still connects.
func wantRefused(t *testing.T, port int) {
	t.Helper()
	c, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err == nil {
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(patience))
		_, err = io.Copy(io.Discard, c)
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Fatalf("the connection ended with %v, not with a reset", err)
	}
}

func wantEcho(t *testing.T, c net.Conn, said string) {
	t.Helper()
	if _, err := io.WriteString(c, said); err != nil {
		t.Fatal(err)
	}
	heard := make([]byte, len(said))
	if _, err := io.ReadFull(c, heard); err != nil || string(heard) != said {
		t.Fatalf("said %q, heard %q, %v", said, heard, err)
	}
}

func wantCode(t *testing.T, err error, code forkbox.Code) *forkbox.Error {
	t.Helper()
	var e *forkbox.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Fatalf("got %v, want code %s", err, code)
	}
	if len(e.Hints) == 0 && code != forkbox.Unavailable {
		t.Errorf("%v has no hint", err)
	}
	return e
}

// free is a port that was free a moment ago, at both addresses.
func free(t *testing.T) int {
	t.Helper()
	l, port, err := listenAny()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range l {
		l.Close()
	}
	return port
}

func hasIPv6(t *testing.T) bool {
	l, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		return false
	}
	l.Close()
	return true
}

func publish(t *testing.T, i *Ingress, box forkbox.Box, p forkbox.Port, dial Dial) int {
	t.Helper()
	got, err := i.Publish(box, p, dial)
	if err != nil {
		t.Fatal(err)
	}
	if got.Box != p.Box || got.Host == 0 || p.Host != 0 && got.Host != p.Host {
		t.Fatalf("asked for %+v, got %+v", p, got)
	}
	return got.Host
}

func isRoot() bool { return os.Getuid() == 0 }

// What the engine wants of a publisher of ports.
var _ interface {
	Publish(box forkbox.Box, p forkbox.Port, dial func(ctx context.Context, port int) (net.Conn, error)) (forkbox.Port, error)
	Unpublish(box string, p forkbox.Port)
	Close(box string)
	URL(box forkbox.Box, port int, dial func(ctx context.Context, port int) (net.Conn, error)) (string, error)
} = (*Ingress)(nil)
