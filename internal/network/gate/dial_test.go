//go:build linux

package gate

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/miekg/dns"
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
			t.Errorf("%s: a port without a listener: %v", where, err)
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

// beginMany has the box send SYNs that nothing ever follows.
func (f *fixture) beginMany(to string, count int) {
	f.t.Helper()
	at := netip.MustParseAddrPort(to)
	for i := range count {
		if err := f.box.inject(synPacket(netip.AddrPortFrom(Box4, uint16(10_000+i)), at)); err != nil {
			f.t.Fatal(err)
		}
	}
}

// synPacket is an IPv4 packet that begins a connection.
func synPacket(from, to netip.AddrPort) []byte {
	tcp := make([]byte, 20)
	binary.BigEndian.PutUint16(tcp, from.Port())
	binary.BigEndian.PutUint16(tcp[2:], to.Port())
	tcp[12], tcp[13] = 5<<4, 2
	binary.BigEndian.PutUint16(tcp[14:], 65535)
	pseudo := append(append(append(from.Addr().AsSlice(), to.Addr().AsSlice()...), 0, protoTCP, 0, 20), tcp...)
	binary.BigEndian.PutUint16(tcp[16:], ^onesSum(pseudo))
	ip := make([]byte, 20)
	ip[0], ip[8], ip[9] = 0x45, 64, protoTCP
	binary.BigEndian.PutUint16(ip[2:], 40)
	copy(ip[12:], from.Addr().AsSlice())
	copy(ip[16:], to.Addr().AsSlice())
	binary.BigEndian.PutUint16(ip[10:], ^onesSum(ip))
	return append(ip, tcp...)
}

func onesSum(b []byte) uint16 {
	var sum uint32
	for i := 0; i < len(b); i += 2 {
		sum += uint32(b[i])<<8 | uint32(b[i+1])
	}
	for sum > 0xffff {
		sum = sum&0xffff + sum>>16
	}
	return uint16(sum)
}

// TestDeadHostDoesNotTakeAllPlaces: while a box tries again and again what never
// answers, it reaches what does, and what it may not reach is refused on record.
func TestDeadHostDoesNotTakeAllPlaces(t *testing.T) {
	bothBoxes(t, func(t *testing.T, make func(testing.TB) (testBox, *os.File)) {
		f := openWith(t, make, "allow 203.0.113.1\nallow 203.0.113.2")
		f.at("tcp", "203.0.113.1:80", "silence")
		f.tcp("203.0.113.2:7", echo)
		f.beginMany("203.0.113.1:80", 5000)
		dropped := f.wantRecord("those without a place", func(c forkbox.Conn) bool {
			return c.State == forkbox.ConnFailed && c.Target.Addr.String() == "203.0.113.1" && c.Times > 1000
		})
		if !strings.Contains(dropped.Why, "too many") || dropped.Target.Port != 80 {
			t.Errorf("the record is %+v", dropped)
		}
		_, err := f.box.dial("tcp", "203.0.113.9:80")
		wantRefused(t, err)
		f.wantRecord("the refused one", func(c forkbox.Conn) bool {
			return c.State == forkbox.ConnRefused && c.Target.Addr.String() == "203.0.113.9"
		})
		conn, err := f.box.dial("tcp", "203.0.113.2:7")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conn.SetDeadline(time.Now().Add(5 * time.Minute))
		io.WriteString(conn, "x\n")
		if _, err := io.ReadFull(conn, []byte("xx")); err != nil {
			t.Error(err)
		}
	})
}

// TestScanOfDeadHostsIsCutShort: where places are short, those that do not answer
// soon are given up, and only there.
func TestScanOfDeadHostsIsCutShort(t *testing.T) {
	var patient, hasty atomic.Int64
	f := openWith(t, newStackBox, "allow 203.0.113.0/24", func(c *Config) {
		c.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
			if _, has := ctx.Deadline(); has {
				hasty.Add(1)
			} else {
				patient.Add(1)
			}
			<-ctx.Done()
			return nil, ctx.Err()
		}
	})
	for i := range 200 {
		f.beginMany("203.0.113."+itoa(i+1)+":80", 5)
	}
	for range 6000 { // a minute: it only takes so long when a test fails
		if patient.Load()+hasty.Load() >= 1000 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if p, h := patient.Load(), hasty.Load(); p != dialMost/2 || h < 1000-dialMost/2 {
		t.Errorf("%d have all the time there is, and %d have not", p, h)
	}
}

func TestPlacesForDialsAreShared(t *testing.T) {
	var d dials
	at := func(i int) netip.Addr { return netip.AddrFrom4([4]byte{203, 0, byte(i >> 8), byte(i)}) }
	fill := func(to netip.Addr) (n int) {
		for {
			ok, crowded := d.begin(to)
			if !ok {
				return n
			}
			if n++; crowded != (d.all > dialMost/2) {
				t.Fatalf("with %d under way it is crowded: %v", d.all, crowded)
			}
		}
	}
	for i := range dialMost {
		if fill(at(i)) == 0 && i < 8 {
			t.Fatalf("after %d destinations that never answer there is no place", i)
		}
	}
	if d.all > dialMost {
		t.Errorf("%d are under way", d.all)
	}
	for to, n := range d.to {
		for range n {
			d.end(to)
		}
	}
	if d.all != 0 || len(d.to) != 0 {
		t.Errorf("%d to %d destinations are left", d.all, len(d.to))
	}
	if n := fill(at(1)); n != dialMost/2 {
		t.Errorf("one destination alone gets %d", n)
	}
}

// TestHiddenAddressesAreOnRecord: a name that has only IPv6 addresses which may
// not be given out leads nowhere, so nothing connects that could be refused.
func TestHiddenAddressesAreOnRecord(t *testing.T) {
	f := open(t, "allow *.example\ndeny cdn.evil.test")
	for name, addr := range map[string]string{
		"loop.example": "::1", "mapped.example": "::ffff:127.0.0.1", "link.example": "fe80::1", "local.example": "fd00::1",
		"nat64.example": "64:ff9b::a4d:1", "gate.example": "fd66:6f72:6b00::1",
	} {
		f.name(name, "60 AAAA "+addr)
	}
	f.name("alias.example", "60 CNAME cdn.evil.test.")
	f.name("cdn.evil.test", "60 AAAA 2001:db8::1")
	f.name("both.example", "60 AAAA fd00::1", "60 A 203.0.113.1")
	f.name("none.example", "60 TXT x")
	f.name("six.example", "60 AAAA 2001:db8::2")
	names := []string{"loop.example", "mapped.example", "link.example", "local.example", "nat64.example", "gate.example", "alias.example"}
	for _, name := range append(names, "both.example", "none.example") {
		if m := f.lookup(name, dns.TypeAAAA); len(m.Answer) != 0 || m.Rcode != dns.RcodeSuccess {
			t.Errorf("%s is answered with %v", name, m)
		}
	}
	if m := f.lookup("six.example", dns.TypeAAAA); len(m.Answer) != 1 {
		t.Errorf("an address that may be known is left out: %v", m)
	}
	f.gate.Close()
	for _, name := range names {
		c := f.wantRecord(name, func(c forkbox.Conn) bool { return c.Target.Host == name })
		if c.State != forkbox.ConnRefused || c.Allowed || c.Target.Proto != "dns" || c.Why == "" || strings.Contains(c.Why, "port") {
			t.Errorf("the record is %+v", c)
		}
	}
	if got := len(f.records()); got != len(names) {
		t.Errorf("there are %d records: %+v", got, f.records())
	}
}
