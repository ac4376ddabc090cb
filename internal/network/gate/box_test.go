//go:build linux

package gate

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"
)

// testBox is the other end of a gate's device.
type testBox interface {
	// dial connects as a program in the box does.
	dial(network, address string) (net.Conn, error)
	// inject sends a raw IP packet.
	inject(packet []byte) error
}

// newBox makes a box with a kernel of its own where that is possible, and else
// one with a second stack.
func newBox(t testing.TB) (testBox, *os.File) {
	t.Helper()
	box, device, err := newKernelBox(t)
	if err == nil {
		return box, device
	}
	t.Logf("no network namespace with a TUN device is to be had here (%v): a second stack is the box", err)
	return newStackBox(t)
}

// bothBoxes runs a test with each kind of box.
func bothBoxes(t *testing.T, test func(t *testing.T, make func(t testing.TB) (testBox, *os.File))) {
	t.Run("kernel", func(t *testing.T) {
		if _, device, err := newKernelBox(t); err != nil {
			t.Skipf("no network namespace with a TUN device is to be had here: %v", err)
		} else {
			device.Close()
		}
		test(t, newBox)
	})
	t.Run("stack", func(t *testing.T) { test(t, newStackBox) })
}

// wantRefused fails unless an error is what a host answers at a port without a
// listener.
func wantRefused(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("got %v, want connection refused", err)
	}
}

// stackBox is a box whose kernel is a second stack, behind a socket that carries
// packets.
type stackBox struct {
	stack *stack.Stack
	link  *link
}

// packetPair is two ends that packets go between.
func packetPair(t testing.TB) (ours, theirs *os.File) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, 4<<20)
	}
	return os.NewFile(uintptr(fds[0]), "packets"), os.NewFile(uintptr(fds[1]), "packets")
}

func newStackBox(t testing.TB) (testBox, *os.File) {
	t.Helper()
	file, device := packetPair(t)
	l, err := newLink(file)
	if err != nil {
		t.Fatal(err)
	}
	l.admit = func([]byte) bool { return true }
	s := stack.New(stack.Options{
		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol, ipv6.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol, udp.NewProtocol},
	})
	if err := s.CreateNIC(nic, l); err != nil {
		t.Fatal(err)
	}
	for _, addr := range []netip.Addr{Box4, Box6} {
		err := s.AddProtocolAddress(nic, tcpip.ProtocolAddress{
			Protocol:          protocolOf(addr),
			AddressWithPrefix: fromAddr(addr).WithPrefix(),
		}, stack.AddressProperties{})
		if err != nil {
			t.Fatal(err)
		}
	}
	s.SetRouteTable([]tcpip.Route{{Destination: header.IPv4EmptySubnet, NIC: nic}, {Destination: header.IPv6EmptySubnet, NIC: nic}})
	go l.run()
	t.Cleanup(func() {
		l.close()
		s.Destroy()
	})
	return &stackBox{s, l}, device
}

func (b *stackBox) dial(network, address string) (net.Conn, error) {
	to := netip.MustParseAddrPort(address)
	remote := tcpip.FullAddress{NIC: nic, Addr: fromAddr(to.Addr()), Port: to.Port()}
	if network == "udp" {
		return gonet.DialUDP(b.stack, nil, &remote, protocolOf(to.Addr()))
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	conn, err := gonet.DialContextTCP(ctx, b.stack, remote, protocolOf(to.Addr()))
	var failure *net.OpError
	if errors.As(err, &failure) && failure.Err.Error() == new(tcpip.ErrConnectionRefused).String() {
		return nil, syscall.ECONNREFUSED
	}
	if err != nil {
		return nil, err
	}
	return conn, nil
}

func (b *stackBox) inject(packet []byte) error {
	b.link.send(packet)
	return nil
}

// kernelBox is a box with a network namespace of its own. A process in it makes
// sockets and hands them out; a socket stays in the namespace it was made in.
type kernelBox struct {
	control int
}

func newKernelBox(t testing.TB) (testBox, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	theirs := os.NewFile(uintptr(fds[1]), "control")
	defer theirs.Close()
	box := exec.Command("/proc/self/exe")
	box.Env = append(os.Environ(), boxVariable+"=1")
	box.ExtraFiles = []*os.File{theirs}
	box.Stderr = os.Stderr
	box.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
		Pdeathsig:   syscall.SIGKILL,
	}
	if err := box.Start(); err != nil {
		unix.Close(fds[0])
		return nil, nil, err
	}
	t.Cleanup(func() {
		unix.Close(fds[0])
		box.Wait()
	})
	unix.SetsockoptTimeval(fds[0], unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 10})
	fd, err := receiveFD(fds[0])
	if err != nil {
		return nil, nil, err
	}
	return &kernelBox{fds[0]}, os.NewFile(uintptr(fd), "tun"), nil
}

func receiveFD(control int) (int, error) {
	note, rights := make([]byte, 256), make([]byte, unix.CmsgSpace(4))
	n, size, _, _, err := unix.Recvmsg(control, note, rights, unix.MSG_CMSG_CLOEXEC)
	for err == unix.EINTR { // the runtime's own signals
		n, size, _, _, err = unix.Recvmsg(control, note, rights, unix.MSG_CMSG_CLOEXEC)
	}
	if err != nil {
		return -1, err
	}
	messages, err := unix.ParseSocketControlMessage(rights[:size])
	if err != nil || len(messages) == 0 {
		return -1, errors.New(string(note[:n]))
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return -1, err
	}
	return fds[0], nil
}

// socket makes one in the box.
func (b *kernelBox) socket(family, kind, proto int) (int, error) {
	ask := make([]byte, 12)
	for i, n := range []int{family, kind, proto} {
		binary.NativeEndian.PutUint32(ask[4*i:], uint32(n))
	}
	err := error(unix.EINTR)
	for err == unix.EINTR { // the runtime's own signals
		err = unix.Send(b.control, ask, 0)
	}
	if err != nil {
		return -1, err
	}
	return receiveFD(b.control)
}

func (b *kernelBox) dial(network, address string) (net.Conn, error) {
	to := netip.MustParseAddrPort(address)
	family, kind := unix.AF_INET6, unix.SOCK_STREAM
	var where unix.Sockaddr = &unix.SockaddrInet6{Addr: to.Addr().As16(), Port: int(to.Port())}
	if to.Addr().Is4() {
		family, where = unix.AF_INET, &unix.SockaddrInet4{Addr: to.Addr().As4(), Port: int(to.Port())}
	}
	if network == "udp" {
		kind = unix.SOCK_DGRAM
	}
	fd, err := b.socket(family, kind, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), address)
	defer f.Close()
	unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &unix.Timeval{Sec: 20})
	for err = unix.EINTR; err == unix.EINTR; {
		err = unix.Connect(fd, where)
	}
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return net.FileConn(f)
}

func (b *kernelBox) inject(packet []byte) error {
	family, where := unix.AF_INET, unix.Sockaddr(nil)
	p, ok := parsePacket(packet)
	if !ok {
		return errors.New("a kernel does not send such a packet")
	}
	if where = (&unix.SockaddrInet6{Addr: p.dst.As16()}); p.dst.Is4() {
		where = &unix.SockaddrInet4{Addr: p.dst.As4()}
	} else {
		family = unix.AF_INET6
	}
	fd, err := b.socket(family, unix.SOCK_RAW, unix.IPPROTO_RAW)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Sendto(fd, packet, 0, where)
}

// beBox runs in the namespace: it makes the device as a provider does, and then
// sockets as long as the test asks for any.
func beBox() int {
	const control = 3
	tun, err := makeDevice()
	if err != nil {
		unix.Send(control, []byte(err.Error()), 0)
		return 1
	}
	unix.Sendmsg(control, []byte{0}, unix.UnixRights(tun), nil, 0)
	unix.Close(tun)
	for ask := make([]byte, 12); ; {
		if n, err := unix.Read(control, ask); err != nil || n != len(ask) {
			return 0
		}
		arg := func(i int) int { return int(binary.NativeEndian.Uint32(ask[4*i:])) }
		fd, err := unix.Socket(arg(0), arg(1), arg(2))
		if err != nil {
			unix.Send(control, []byte(err.Error()), 0)
			continue
		}
		unix.Sendmsg(control, []byte{0}, unix.UnixRights(fd), nil, 0)
		unix.Close(fd)
	}
}

func makeDevice() (int, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("/dev/net/tun: %w", err)
	}
	request, _ := unix.NewIfreq("fb0")
	request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, request); err != nil {
		return -1, fmt.Errorf("TUNSETIFF: %w", err)
	}
	script := fmt.Sprintf(`set -e
ip link set lo up
ip link set fb0 mtu %d up
ip addr add %v/16 dev fb0
ip -6 addr add %v/64 dev fb0 nodad
ip route add default via %v dev fb0
ip -6 route add default via %v dev fb0`, MTU, Box4, Box6, Gateway4, Gateway6)
	shell := exec.Command("sh", "-c", script)
	shell.WaitDelay = 10 * time.Second
	if out, err := shell.CombinedOutput(); err != nil {
		return -1, fmt.Errorf("ip: %w: %s", err, out)
	}
	return fd, nil
}

// listen is a listener in the box.
func (b *kernelBox) listen(t testing.TB, port int) net.Listener {
	t.Helper()
	fd, err := b.socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), "listener")
	defer f.Close()
	if err := unix.Bind(fd, &unix.SockaddrInet4{Port: port}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(fd, 16); err != nil {
		t.Fatal(err)
	}
	l, err := net.FileListener(f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}
