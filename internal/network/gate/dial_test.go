//go:build linux

package gate

import (
	"context"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestDialWorld(t *testing.T) {
	for _, where := range []string{"127.0.0.1:0", "[::1]:0"} {
		l, err := net.Listen("tcp", where)
		if err != nil {
			t.Logf("%s: %v", where, err)
			continue
		}
		go func() {
			conn, err := l.Accept()
			if err == nil {
				io.Copy(conn, conn)
				conn.Close()
			}
		}()
		conn, err := dialWorld(t.Context(), "tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(conn, "hi")
		conn.(*net.TCPConn).CloseWrite()
		if back, err := io.ReadAll(conn); string(back) != "hi" {
			t.Errorf("%s: %q, %v", where, back, err)
		}
		if conn.RemoteAddr().String() != l.Addr().String() {
			t.Errorf("it is connected to %v", conn.RemoteAddr())
		}
		conn.Close()
		l.Close()
		if _, err := dialWorld(t.Context(), "tcp", l.Addr().String()); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("%s: where nobody listens: %v", where, err)
		}
	}
	if _, err := dialWorld(t.Context(), "tcp", "name.example:80"); err == nil {
		t.Error("a name was dialled")
	}
}

// TestDialWorldCanBeEnded connects to a listener that takes no more, where
// connecting hangs.
func TestDialWorldCanBeEnded(t *testing.T) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := errors.Join(unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), unix.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	at, _ := unix.Getsockname(fd)
	address := net.JoinHostPort("127.0.0.1", itoa(at.(*unix.SockaddrInet4).Port))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 16)
	for range cap(ended) {
		go func() {
			conn, err := dialWorld(ctx, "tcp", address)
			if err == nil {
				defer conn.Close()
			}
			ended <- err
		}()
	}
	time.AfterFunc(100*time.Millisecond, cancel)
	hung := 0
	for range cap(ended) {
		if err := <-ended; errors.Is(err, context.Canceled) {
			hung++
		}
	}
	if hung == 0 {
		t.Error("none had to be ended")
	}
	if _, err := dialWorld(ctx, "tcp", address); !errors.Is(err, context.Canceled) {
		t.Errorf("when it is over already: %v", err)
	}
}
