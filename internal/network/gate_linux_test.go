package network

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/network/gate"
)

// wired is a box whose device is a socket.
type wired struct {
	forkbox.Networked
	device *os.File
}

func (w wired) Device(context.Context) (*os.File, error) { return w.device, nil }

func (wired) Holder(string, netip.AddrPort, netip.AddrPort) (forkbox.Who, bool) {
	return forkbox.Who{}, false
}

func opened(t *testing.T, h *House, box forkbox.Box) *boxGate {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	must(t, err)
	box.State = forkbox.Running
	g, err := h.Open(context.Background(), box, wired{device: os.NewFile(uintptr(fds[0]), "packets")}, forkbox.Hears{})
	must(t, err)
	t.Cleanup(func() { _ = g.Close(); _ = unix.Close(fds[1]) })
	return g.(*boxGate)
}

// reading has a connection of the box's read by the gate, as egress does. The
// server is what dial reaches.
type reading struct {
	net.Conn
	from *bufio.Reader

	lock    sync.Mutex
	refused []forkbox.NetVerdict
}

func read(t *testing.T, g *boxGate, host string, dial func(context.Context) (net.Conn, error)) *reading {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer listener.Close()
	ours, err := net.Dial("tcp", listener.Addr().String())
	must(t, err)
	theirs, err := listener.Accept()
	must(t, err)
	r := &reading{Conn: ours, from: bufio.NewReader(ours)}
	meta := gate.Meta{Host: host, Addr: netip.MustParseAddrPort("203.0.113.5:8080"), Dial: dial, Record: func(v forkbox.NetVerdict) {
		r.lock.Lock()
		defer r.lock.Unlock()
		r.refused = append(r.refused, v)
	}}
	var serving sync.WaitGroup
	serving.Go(func() { g.intercept(theirs, meta) })
	t.Cleanup(func() { _ = ours.Close(); serving.Wait() })
	return r
}

func (r *reading) told() []forkbox.NetVerdict {
	r.lock.Lock()
	defer r.lock.Unlock()
	return slices.Clone(r.refused)
}

func (r *reading) ask(t *testing.T, method, target string) int {
	t.Helper()
	fmt.Fprintf(r, "%s %s HTTP/1.1\r\nHost: x\r\n\r\n", method, target)
	answer, err := http.ReadResponse(r.from, &http.Request{Method: method})
	must(t, err)
	return answer.StatusCode
}

// TestCloseDoesNotWaitForServers: a server that cannot be reached, while the
// box has more to send, holds nothing up.
func TestCloseDoesNotWaitForServers(t *testing.T) {
	t.Parallel()
	h := house(t)
	g := opened(t, h, boxOf(t, h, "", forkbox.NetWish{Rules: []string{"allow good.example.com"}}))
	dialing := make(chan struct{})
	box := read(t, g, "good.example.com", func(ctx context.Context) (net.Conn, error) {
		close(dialing)
		<-ctx.Done()
		return nil, ctx.Err()
	})
	_, err := io.WriteString(box, "POST / HTTP/1.1\r\nHost: good.example.com:8080\r\nContent-Length: 1000\r\n\r\nx")
	must(t, err)
	<-dialing
	must(t, g.Close())
}

// TestAProxyIsJudgedByTheBoxesRules: by those that hold when it is asked, and
// what is open through it ends when they change.
func TestAProxyIsJudgedByTheBoxesRules(t *testing.T) {
	t.Parallel()
	h := house(t)
	wish := forkbox.NetWish{Rules: []string{"allow proxy.example.com:8080", "allow good.example.com:443", "allow GET api.example.com/v1/**"}}
	box := boxOf(t, h, "", wish)
	must(t, h.Prepare(&box))
	g := opened(t, h, box)
	proxy := func(context.Context) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go func() {
			if _, err := http.ReadRequest(bufio.NewReader(theirs)); err == nil {
				_, _ = io.WriteString(theirs, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
				_, _ = io.Copy(io.Discard, theirs)
			}
			_ = theirs.Close()
		}()
		return ours, nil
	}
	for _, c := range []struct {
		method, target string
		status         int
		refused        string
	}{
		{"CONNECT", "good.example.com:443", 200, ""},
		{"CONNECT", "good.example.com:22", 403, "good.example.com"},
		{"CONNECT", "evil.example.org:443", 403, "evil.example.org"},
		{"CONNECT", "api.example.com:443", 403, "api.example.com"}, // its requests are looked at
		{"CONNECT", "10.0.0.1:443", 403, ""},
	} {
		r := read(t, g, "proxy.example.com", proxy)
		if status := r.ask(t, c.method, c.target); status != c.status {
			t.Errorf("%s: %d", c.target, status)
		}
		if told := r.told(); c.status == 403 && (len(told) != 1 || told[0].Target.Host != c.refused) {
			t.Errorf("%s: %+v is on record", c.target, told)
		}
	}
	r := read(t, g, "proxy.example.com", proxy)
	r.ask(t, "CONNECT", "good.example.com:443")
	wish.Rules[1] = "deny good.example.com"
	box.Network = boxOf(t, h, "", wish).Network
	must(t, g.Update(box))
	if _, err := r.from.ReadByte(); err == nil {
		t.Error("the tunnel is still open")
	}
	if told := r.told(); len(told) != 1 || told[0].Target.Host != "good.example.com" {
		t.Errorf("on record is %+v", told)
	}
}
