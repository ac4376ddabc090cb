//go:build linux

package gate

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
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
