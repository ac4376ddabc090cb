//go:build linux

package native

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/providertest"
)

// gated is a running box whose network ends at a device that the test has.
func gated(t *testing.T) (*providertest.Running, *os.File) {
	t.Helper()
	p, lab := lab(t)
	if err := p.CanGate(); err != nil {
		t.Skip(err)
	}
	r := lab.Start(lab.Box(func(b *forkbox.Box) { b.Net = forkbox.NetPolicy }))
	device, err := r.Instance.(forkbox.Networked).Device(context.Background())
	must(t, err)
	t.Cleanup(func() { device.Close() })
	return r, device
}

// background starts a tool that goes on while the test does.
func background(t *testing.T, r *providertest.Running, in *os.File, tool ...string) string {
	t.Helper()
	id := r.ID()
	must(t, r.Exec(id, forkbox.ExecSpec{Argv: providertest.Tool(tool[0], tool[1:]...)}, forkbox.Stdio{In: in}, 1<<20))
	return id
}

// heard is the first packet with a payload that begins with a word.
func heard(t *testing.T, device *os.File, word string) []byte {
	t.Helper()
	must(t, device.SetReadDeadline(time.Now().Add(30*time.Second)))
	packet := make([]byte, 65536)
	for {
		n, err := device.Read(packet)
		must(t, err)
		if bytes.Contains(packet[:n], []byte(word)) {
			return packet[:n]
		}
	}
}

// TestWhatLeavesABoxComesToItsDevice: of both families, whatever the address.
func TestWhatLeavesABoxComesToItsDevice(t *testing.T) {
	t.Parallel()
	r, device := gated(t)
	for _, to := range []string{"203.0.113.9:99", "198.18.0.1:53", "10.1.2.3:4", "169.254.169.254:80", "[2001:db8::5]:7", "[fd00::1]:9"} {
		res := r.Run(forkbox.ExecSpec{Argv: providertest.Tool("send", to, "hello "+to)}, nil)
		if res.Exit.Code != 0 {
			t.Fatalf("%s: %s%s", to, res.Stdout, res.Stderr)
		}
		packet := heard(t, device, "hello "+to)
		want := netip.MustParseAddrPort(to)
		got := destination(packet)
		if got != want {
			t.Errorf("sent to %v, came as %v", want, got)
		}
	}
}

func destination(packet []byte) netip.AddrPort {
	if packet[0]>>4 == 4 {
		addr, _ := netip.AddrFromSlice(packet[16:20])
		return netip.AddrPortFrom(addr, binary.BigEndian.Uint16(packet[22:]))
	}
	addr, _ := netip.AddrFromSlice(packet[24:40])
	return netip.AddrPortFrom(addr, binary.BigEndian.Uint16(packet[42:]))
}

// sendTool sends a datagram and waits to be told to end, on its stdin.
func sendTool(args []string) int {
	conn, err := net.Dial("udp", args[0])
	if err == nil {
		_, err = io.WriteString(conn, args[1])
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	if len(args) > 2 {
		fmt.Println(conn.LocalAddr())
		_, _ = io.Copy(io.Discard, os.Stdin)
	}
	return 0
}

// callTool tries to connect.
func callTool(args []string) int {
	_, err := net.DialTimeout("tcp", args[0], 30*time.Second)
	return report(err)
}

// TestHolderOfASocket: who sends is told by exec, by pid in the box and by
// command.
func TestHolderOfASocket(t *testing.T) {
	t.Parallel()
	r, device := gated(t)
	in, done, err := os.Pipe()
	must(t, err)
	defer done.Close()
	exec := background(t, r, in, "send", "203.0.113.9:99", "who am I", "wait")
	packet := heard(t, device, "who am I")
	from, _ := netip.AddrFromSlice(packet[12:16])
	to, local := destination(packet), netip.AddrPortFrom(from, binary.BigEndian.Uint16(packet[20:]))
	who, ok := r.Instance.(forkbox.Networked).Holder("udp", local, to)
	if !ok || who.PID < 2 || !strings.Contains(who.Command, "203.0.113.9:99 who am I") {
		t.Errorf("it is %+v, %v", who, ok)
	}
	if who.Exec != exec {
		t.Errorf("it is exec %q, not %q", who.Exec, exec)
	}
	background(t, r, nil, "call", "[2001:db8::5]:777")
	packet = heard(t, device, "\x03\x09") // port 777
	from, _ = netip.AddrFromSlice(packet[8:24])
	who, ok = r.Instance.(forkbox.Networked).Holder("tcp", netip.AddrPortFrom(from, binary.BigEndian.Uint16(packet[40:])), destination(packet))
	if !ok || !strings.Contains(who.Command, "[2001:db8::5]:777") {
		t.Errorf("it is %+v, %v", who, ok)
	}
	if who, ok := r.Instance.(forkbox.Networked).Holder("tcp", netip.AddrPortFrom(from, 1), to); ok {
		t.Errorf("nobody's socket is %+v's", who)
	}
}

// TestDialReachesTheBoxsLoopback: of either family, and only the box's.
func TestDialReachesTheBoxsLoopback(t *testing.T) {
	t.Parallel()
	r, _ := gated(t)
	host, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer host.Close()
	port := host.Addr().(*net.TCPAddr).Port
	inst := r.Instance.(forkbox.Networked)
	if conn, err := inst.Dial(context.Background(), port); err == nil {
		conn.Close()
		t.Fatal("a port of the host's answers")
	} else if forkbox.CodeOf(err) != forkbox.Unavailable {
		t.Error(err)
	}
	for _, at := range []string{"127.0.0.1", "::1", "198.18.0.2"} {
		in, done, err := os.Pipe()
		must(t, err)
		background(t, r, in, "echo", net.JoinHostPort(at, fmt.Sprint(port)))
		conn := dialUntil(t, inst, port)
		_, err = io.WriteString(conn, "hello "+at)
		must(t, err)
		must(t, conn.(*net.UnixConn).CloseWrite())
		if got, err := io.ReadAll(conn); string(got) != "hello "+at {
			t.Errorf("%s echoes %q, %v", at, got, err)
		}
		conn.Close()
		done.Close()
	}
}

func dialUntil(t *testing.T, inst forkbox.Networked, port int) net.Conn {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		conn, err := inst.Dial(context.Background(), port)
		if err == nil {
			return conn
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// echoTool echoes one connection.
func echoTool(args []string) int {
	l, err := net.Listen("tcp", args[0])
	for ; err != nil; l, err = net.Listen("tcp", args[0]) { // the last one is about to end
		time.Sleep(20 * time.Millisecond)
	}
	conn, err := l.Accept()
	l.Close() // before the echo, so that the next connection cannot reach this listener
	if err != nil {
		return 1
	}
	_, _ = io.Copy(conn, conn)
	conn.Close()
	return 0
}

// TestDeviceOutlivesTheDaemon: who finds the box running gets its device again.
func TestDeviceOutlivesTheDaemon(t *testing.T) {
	t.Parallel()
	p, lab := lab(t)
	if err := p.CanGate(); err != nil {
		t.Skip(err)
	}
	box := lab.Box(func(b *forkbox.Box) { b.Net = forkbox.NetPolicy })
	first := lab.Start(box)
	device, err := first.Instance.(forkbox.Networked).Device(context.Background())
	must(t, err)
	device.Close()
	again := lab.Attach(box)
	device, err = again.Instance.(forkbox.Networked).Device(context.Background())
	must(t, err)
	defer device.Close()
	res := again.Run(forkbox.ExecSpec{Argv: providertest.Tool("send", "203.0.113.9:99", "still here")}, nil)
	if res.Exit.Code != 0 {
		t.Fatalf("%s%s", res.Stdout, res.Stderr)
	}
	heard(t, device, "still here")
}

// TestGateFilesAreHidden: what a box makes of its name server and of whom it
// trusts is not what reality has there, so it lands only where the owner names it.
func TestGateFilesAreHidden(t *testing.T) {
	t.Parallel()
	p, lab := lab(t)
	if err := p.CanGate(); err != nil {
		t.Skip(err)
	}
	p.Trust(func(ca string) map[string][]byte { return map[string][]byte{"/etc/forkbox-ca.pem": []byte(ca)} })
	box := lab.Box(func(b *forkbox.Box) { b.Net, b.Network.CA = forkbox.NetPolicy, "the gate's" })
	r := lab.Start(box)
	if got := r.Sh("cat /etc/forkbox-ca.pem"); got != "the gate's" {
		t.Errorf("it trusts %q", got)
	}
	if got := r.Sh("grep -c '^nameserver 198.18.0.1$' /etc/resolv.conf"); got != "1" {
		t.Errorf("its name servers: %s", got)
	}
	if !root {
		return // without root no box may change the files of /etc
	}
	r.Sh("echo more >>/etc/resolv.conf; echo more >>/etc/forkbox-ca.pem; echo more >/etc/forkbox-other")
	hidden := map[string]bool{}
	must(t, p.Changes(context.Background(), box, func(c forkbox.Change, _ forkbox.Sides) error {
		hidden[c.Path] = c.Hidden
		return nil
	}))
	if !hidden["/etc/resolv.conf"] || !hidden["/etc/forkbox-ca.pem"] || hidden["/etc/forkbox-other"] || len(hidden) != 3 {
		t.Errorf("hidden are %v", hidden)
	}
}

// TestNameOfABoxIsNoChange: a box's own name stands in files that it has instead
// of reality's. They are no change, and what the box makes of them is hidden: its
// name must not land.
func TestNameOfABoxIsNoChange(t *testing.T) {
	t.Parallel()
	p, lab := lab(t)
	box := lab.Box()
	r := lab.Start(box)
	r.Sh("grep -qw " + box.Name + " /etc/hosts && grep -qx " + box.Name + " /etc/hostname")
	changes := func() (list []forkbox.Change) {
		must(t, p.Changes(context.Background(), box, func(c forkbox.Change, _ forkbox.Sides) error {
			list = append(list, c)
			return nil
		}))
		return list
	}
	if list := changes(); len(list) > 0 {
		t.Errorf("before it did anything: %+v", list)
	}
	r.Sh("echo 192.0.2.7 x >>/etc/hosts && chmod 600 /etc/hosts && echo other >/etc/hostname")
	list := changes()
	for _, c := range list {
		if !c.Hidden {
			t.Errorf("it would land: %+v", c)
		}
	}
	if len(list) != 2 {
		t.Errorf("got %+v", list)
	}
}

// TestNamesAreForTheGate: what the host's own file of names says is the gate's to
// know, which gives out addresses.
func TestNamesAreForTheGate(t *testing.T) {
	t.Parallel()
	got := string(onlyLoopback([]byte("# mine\n127.0.0.1 localhost\n203.0.113.5 git.example.com\n  ::1 ip6-localhost\nfe80::1%lo x\n127.0.1.1 this\n\nnonsense")))
	if want := "127.0.0.1 localhost\n  ::1 ip6-localhost\n127.0.1.1 this\n"; got != want {
		t.Errorf("%q", got)
	}
}

func TestResolvConf(t *testing.T) {
	t.Parallel()
	got := string(resolvConf([]byte("# mine\nnameserver 192.0.2.1\nsearch corp.example example.com\n  options  ndots:2\nnameserver ::1\n")))
	if want := "nameserver 198.18.0.1\nsearch corp.example example.com\noptions ndots:2\n"; got != want {
		t.Errorf("%q", got)
	}
}
