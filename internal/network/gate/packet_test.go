//go:build linux

package gate

import (
	"encoding/binary"
	"net/netip"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/checksum"
	"gvisor.dev/gvisor/pkg/tcpip/header"
)

// craft makes an IP packet around a body.
func craft(src, dst netip.Addr, proto uint8, body []byte) []byte {
	if dst.Is4() {
		b := make([]byte, 20, 20+len(body))
		ip := header.IPv4(b)
		ip.Encode(&header.IPv4Fields{TotalLength: uint16(20 + len(body)), TTL: 64, Protocol: proto, SrcAddr: fromAddr(src), DstAddr: fromAddr(dst)})
		ip.SetChecksum(^ip.CalculateChecksum())
		return append(b, body...)
	}
	b := make([]byte, 40, 40+len(body))
	header.IPv6(b).Encode(&header.IPv6Fields{PayloadLength: uint16(len(body)), TransportProtocol: tcpip.TransportProtocolNumber(proto), HopLimit: 64, SrcAddr: fromAddr(src), DstAddr: fromAddr(dst)})
	return append(b, body...)
}

func ping(dst netip.Addr) []byte {
	if dst.Is4() {
		body := []byte{8, 0, 0, 0, 0, 1, 0, 1, 'h', 'i', '!', '!'}
		binary.BigEndian.PutUint16(body[2:], ^checksum.Checksum(body, 0))
		return craft(Box4, dst, protoICMP, body)
	}
	body := []byte{128, 0, 0, 0, 0, 1, 0, 1, 'h', 'i', '!', '!'}
	sum := header.PseudoHeaderChecksum(protoICMP6, fromAddr(Box6), fromAddr(dst), uint16(len(body)))
	binary.BigEndian.PutUint16(body[2:], ^checksum.Checksum(body, sum))
	return craft(Box6, dst, protoICMP6, body)
}

func syn(dst netip.Addr, from, to uint16) []byte {
	body := make([]byte, 20)
	header.TCP(body).Encode(&header.TCPFields{SrcPort: from, DstPort: to, SeqNum: 1, DataOffset: 20, Flags: header.TCPFlagSyn, WindowSize: 65535})
	return craft(Box4, dst, protoTCP, body)
}

// wire is a gate with bare packets for a box.
type wire struct {
	*fixture
	fd int
}

func openWire(t testing.TB, rules string, change ...func(*Config)) *wire {
	ours, device := packetPair(t)
	change = append(change, func(c *Config) { c.Device = device })
	f := openWith(t, func(testing.TB) (testBox, *os.File) { return nil, device }, rules, change...)
	t.Cleanup(func() { ours.Close() })
	return &wire{f, int(ours.Fd())}
}

// answer sends a packet and waits for one that comes back.
func (w *wire) answer(raw []byte) packet {
	w.t.Helper()
	if _, err := unix.Write(w.fd, raw); err != nil {
		w.t.Fatal(err)
	}
	p, ok := w.next()
	if !ok {
		w.t.Fatalf("nothing came back for %x", raw)
	}
	return p
}

func (w *wire) next() (packet, bool) {
	buf := make([]byte, 1<<16)
	for range 300 {
		n, err := unix.Read(w.fd, buf)
		if err == nil {
			return parsePacket(buf[:n])
		}
		time.Sleep(10 * time.Millisecond)
	}
	return packet{}, false
}

func TestPings(t *testing.T) {
	w := openWire(t, "allow 203.0.113.0/24")
	for _, gateway := range []netip.Addr{Gateway4, Gateway6} {
		if p := w.answer(ping(gateway)); p.src != gateway || p.body[0] != 0 && p.body[0] != 129 {
			t.Errorf("the gateway answers %x", p.raw)
		}
	}
	for dst, code := range map[string]byte{"203.0.113.1": 13, "2001:db8::1": 1} {
		addr := netip.MustParseAddr(dst)
		p := w.answer(ping(addr))
		if p.src != addr || p.body[0] != 3 && p.body[0] != 1 || p.body[1] != code {
			t.Errorf("a ping of %s is answered by %x", dst, p.raw)
		}
		w.wantRecord(dst, func(c forkbox.Conn) bool {
			return c.Target.Proto == "icmp" && c.Target.Addr == addr && c.State == forkbox.ConnRefused
		})
	}
}

func TestOnlyTCPAndUDPPass(t *testing.T) {
	w := openWire(t, "allow any:0.0.0.0/0\nallow any:::/0")
	addr := netip.MustParseAddr("203.0.113.1")
	for _, proto := range []uint8{47, 50, 132, 41, 4, 255, protoRouting} {
		p := w.answer(craft(Box4, addr, proto, []byte("something")))
		if p.proto != protoICMP || p.body[0] != 3 || p.body[1] != 13 {
			t.Errorf("protocol %d is answered by %x", proto, p.raw)
		}
		w.wantRecord(protoName(proto), func(c forkbox.Conn) bool { return c.Target.Proto == protoName(proto) && c.Target.Addr == addr })
	}
	// A routing header could lead elsewhere than to the address that is judged.
	routing := append([]byte{protoTCP, 2, 0, 1, 0, 0, 0, 0}, netip.MustParseAddr("2001:db8::bad").AsSlice()...)
	p := w.answer(craft(Box6, netip.MustParseAddr("2001:db8::1"), protoRouting, append(routing, make([]byte, 20)...)))
	if p.proto != protoICMP6 || p.body[0] != 1 {
		t.Errorf("a routing header is answered by %x", p.raw)
	}
	for name, raw := range map[string][]byte{
		"another's source":  craft(netip.MustParseAddr("203.0.113.7"), addr, protoUDP, []byte{0, 1, 0, 2, 0, 8, 0, 0}),
		"multicast":         craft(Box4, netip.MustParseAddr("224.0.0.251"), protoUDP, []byte{20, 233, 20, 233, 0, 8, 0, 0}),
		"broadcast":         craft(Box4, broadcast, protoUDP, []byte{0, 68, 0, 67, 0, 8, 0, 0}),
		"loopback":          craft(Box4, netip.MustParseAddr("127.0.0.1"), protoTCP, make([]byte, 20)),
		"nowhere":           craft(Box4, netip.MustParseAddr("0.0.0.0"), protoTCP, make([]byte, 20)),
		"loopback of IPv6":  craft(Box6, netip.MustParseAddr("::1"), protoTCP, make([]byte, 20)),
		"multicast of IPv6": craft(Box6, netip.MustParseAddr("ff02::fb"), protoUDP, []byte{20, 233, 20, 233, 0, 8, 0, 0}),
	} {
		before := len(w.records())
		if _, err := unix.Write(w.fd, raw); err != nil {
			t.Fatal(err)
		}
		w.wantRecord(name, func(forkbox.Conn) bool { return len(w.records()) > before })
	}
	if calls := w.calls(); len(calls) != 0 {
		t.Errorf("the gate called %v", calls)
	}
}

func TestFloodOfHalfOpenConnections(t *testing.T) {
	const flood = 100_000
	w := openWire(t, "allow 203.0.113.1:443\nallow 203.0.113.2:443")
	w.at("tcp", "203.0.113.1:443", "silence") // dialing it takes for ever
	w.tcp("203.0.113.2:443", echo)            // the box never takes these
	go func() {
		buf := make([]byte, 1<<16)
		for w.gate.ctx.Err() == nil {
			if _, err := unix.Read(w.fd, buf); err != nil {
				time.Sleep(time.Millisecond)
			}
		}
	}()
	for i := range flood {
		dst := netip.AddrFrom4([4]byte{203, 0, 113, byte(i % 250)})
		for unix.EAGAIN == func() error {
			_, err := unix.Write(w.fd, syn(dst, uint16(1024+i%60000), uint16(443+i%2*(i/250))))
			return err
		}() {
			time.Sleep(time.Millisecond)
		}
		if i%10_000 == 0 && runtime.NumGoroutine() > inFlight*4 {
			t.Fatalf("%d goroutines", runtime.NumGoroutine())
		}
	}
	var mem runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&mem)
	if mem.HeapAlloc > 200<<20 {
		t.Errorf("%d MiB are in use", mem.HeapAlloc>>20)
	}
	if n := w.gate.open.Load(); n > inFlight {
		t.Errorf("%d connections are under way", n)
	}
	if n := len(w.records()); n > 4*foldLimit {
		t.Errorf("%d records", n)
	}
	total := 0
	w.gate.Close()
	for _, c := range w.records() {
		total += max(c.Times, 1)
	}
	t.Logf("%d records of %d attempts, %d dropped", len(w.records()), total, w.gate.Stats().HalfOpen)
}

// FuzzPackets has the gate read any bytes at all.
func FuzzPackets(f *testing.F) {
	addr := netip.MustParseAddr("203.0.113.1")
	f.Add(ping(Gateway4))
	f.Add(ping(Gateway6))
	f.Add(syn(addr, 1, 443))
	f.Add(craft(Box4, addr, protoUDP, []byte{0, 1, 0, 53, 0, 8, 0, 0}))
	f.Add(craft(Box4, Gateway4, protoUDP, append([]byte{0, 1, 0, 53, 0, 25, 0, 0}, "\x00\x01\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x01a\x00\x00\x01\x00\x01"...)))
	f.Add(craft(Box6, netip.MustParseAddr("2001:db8::1"), 0, append([]byte{protoFragment, 0, 0, 0, 0, 0, 0, 0, protoTCP, 0, 0, 1, 0, 0, 0, 1}, make([]byte, 40)...)))
	f.Add([]byte{})
	w := openWire(f, "allow any:0.0.0.0/0\nallow any:::/0")
	f.Fuzz(func(t *testing.T, raw []byte) {
		if p, ok := parsePacket(raw); ok {
			if len(p.raw) > len(raw) || len(p.body) > len(p.raw) {
				t.Fatal("it is longer than it is")
			}
			p.isEcho()
			p.isUpkeep()
			p.isPortUnreachable()
			if back, ok := parsePacket(unreachable(p, prohibited)); !ok || back.dst != p.src || back.src != p.dst {
				t.Fatalf("the error is %+v", back)
			}
		}
		unix.Write(w.fd, raw)
		buf := make([]byte, 1<<16)
		for {
			if _, err := unix.Read(w.fd, buf); err != nil {
				break
			}
		}
	})
}
