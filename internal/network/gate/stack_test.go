//go:build linux

package gate

import (
	"context"
	"net/netip"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"github.com/forkbox/forkbox"
)

// TestStackIsMadeWhenItIsNeeded: not for what a kernel sends by itself, nor for
// what is refused without it. That is on record all the same.
func TestStackIsMadeWhenItIsNeeded(t *testing.T) {
	w := openWire(t, "")
	host := netip.MustParseAddr("203.0.113.1")
	for _, raw := range [][]byte{
		craft(netip.MustParseAddr("fe80::1"), netip.MustParseAddr("ff02::2"), protoICMP6, []byte{133, 0, 0, 0, 0, 0, 0, 0}),
		craft(Box4, netip.MustParseAddr("224.0.0.22"), protoIGMP, []byte{0x22, 0, 0, 0, 0, 0, 0, 0}),
		{0xff},
		craft(netip.MustParseAddr("192.0.2.1"), host, protoTCP, make([]byte, 20)),
		ping(host),
	} {
		if _, err := unix.Write(w.fd, raw); err != nil {
			t.Fatal(err)
		}
	}
	w.wantRecord("the other source", func(c forkbox.Conn) bool { return c.Target.Proto == "tcp" && c.State == forkbox.ConnRefused })
	w.wantRecord("the ping", func(c forkbox.Conn) bool { return c.Target.Proto == "icmp" && c.Target.Addr == host })
	if w.gate.stack.Load() != nil {
		t.Error("there is a stack for nothing")
	}
	if got := w.gate.Stats(); got.HalfOpen != 0 || got.Dropped != 1 {
		t.Errorf("the gate counts %+v", got)
	}
	if p, ok := w.next(); !ok || !p.isError() {
		t.Errorf("the ping got %+v", p)
	}
	if p := w.answer(syn(host, 1024, 443)); p.proto != protoTCP || p.src != host {
		t.Errorf("the first SYN got %+v", p)
	}
	w.wantRecord("the connection", func(c forkbox.Conn) bool { return c.Target.Port == 443 && c.State == forkbox.ConnRefused })
}

// TestStackIsMadeOnce: however many need it at once.
func TestStackIsMadeOnce(t *testing.T) {
	w := openWire(t, "")
	all := make([]*stack.Stack, 8)
	var both sync.WaitGroup
	for i := range all {
		both.Go(func() { all[i], _ = w.gate.needStack() })
	}
	if p := w.answer(ping(Gateway4)); !p.src.Is4() || p.src != Gateway4 {
		t.Errorf("the ping got %+v", p)
	}
	both.Wait()
	for _, s := range all {
		if s == nil || s != w.gate.stack.Load() {
			t.Fatal("there are several stacks")
		}
	}
}

// TestCloseWhileTheStackIsMade: nothing of it is left, and none is made later.
func TestCloseWhileTheStackIsMade(t *testing.T) {
	before := countStacks()
	for range 30 {
		w := openWire(t, "")
		var making sync.WaitGroup
		making.Go(func() { w.gate.needStack() })
		making.Go(func() { unix.Write(w.fd, ping(Gateway4)) })
		w.gate.Close()
		making.Wait()
		had := w.gate.stack.Load()
		if _, err := w.gate.DialIn(context.Background(), Gateway4, "tcp", 80); err == nil {
			t.Fatal("a closed gate connects")
		}
		if w.gate.stack.Load() != had {
			t.Fatal("a closed gate made a stack")
		}
	}
	wantNoMore(t, before)
}
