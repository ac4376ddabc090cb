package gate

import (
	"errors"
	"net"
	"net/netip"
	"time"

	"github.com/forkbox/forkbox"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/icmp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"
)

const (
	nic = 1
	// inFlight is how many connections can be under way to being accepted, with
	// room for those that are only to be refused. SYNs beyond are dropped: their
	// sender repeats them.
	inFlight = 2 * dialMost
	// timeWait is short: the other end is a device in memory, where no packet
	// comes late.
	timeWait = 2 * time.Second
)

// needStack is the stack, which is made when the first packet comes that it
// could have an answer to, or the host or a teammate connects to the box: many
// boxes never use the network, and a stack costs more than the rest of a gate.
func (g *Gate) needStack() (*stack.Stack, error) {
	if s := g.stack.Load(); s != nil {
		return s, nil
	}
	if !g.enter() { // Close waits, and finds what was made
		return nil, net.ErrClosed
	}
	defer g.work.Done()
	g.making.Lock()
	defer g.making.Unlock()
	if s := g.stack.Load(); s != nil {
		return s, nil
	}
	return g.newStack()
}

// newStack makes a stack that answers for every address there is.
func (g *Gate) newStack() (*stack.Stack, error) {
	s := stack.New(stack.Options{
		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol, ipv6.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol, udp.NewProtocol, icmp.NewProtocol4, icmp.NewProtocol6},
	})
	names, err := g.configure(s)
	if err != nil {
		s.Destroy()
		return nil, err
	}
	forwarder := tcp.NewForwarder(s, 0, inFlight, g.acceptTCP)
	s.SetTransportProtocolHandler(tcp.ProtocolNumber, g.watchDrops(s, forwarder))
	s.SetTransportProtocolHandler(udp.ProtocolNumber, g.acceptUDP)
	for _, server := range names {
		server.start()
	}
	g.stack.Store(s) // whole: the reader of packets waits for that
	return s, nil
}

// watchDrops has SYNs that the forwarder drops unseen on record. It runs where
// packets are read, one at a time.
func (g *Gate) watchDrops(s *stack.Stack, forwarder *tcp.Forwarder) func(stack.TransportEndpointID, *stack.PacketBuffer) bool {
	drops := s.Stats().TCP.ForwardMaxInFlightDrop
	return func(id stack.TransportEndpointID, pkt *stack.PacketBuffer) bool {
		before := drops.Value()
		handled := forwarder.HandlePacket(id, pkt)
		if drops.Value() != before {
			t := forkbox.NetTarget{Proto: "tcp", Addr: toAddr(id.LocalAddress), Port: int(id.LocalPort)}
			g.log.refuse(forkbox.NetVerdict{Target: t, Why: "the box is making too many connections at once for it to be looked at"}, nil)
		}
		return handled
	}
}

func (g *Gate) configure(s *stack.Stack) (names []*nameServer, err error) {
	steps := []func() tcpip.Error{
		func() tcpip.Error { return s.CreateNIC(nic, g.link) },
		// Promiscuous: packets for any address are for us. Spoofing: answers come
		// from that address.
		func() tcpip.Error { return s.SetPromiscuousMode(nic, true) },
		func() tcpip.Error { return s.SetSpoofing(nic, true) },
		func() tcpip.Error { return addAddress(s, Gateway4, 16) },
		func() tcpip.Error { return addAddress(s, Gateway6, 64) },
		func() tcpip.Error { return tuneTCP(s) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, errors.New(err.String())
		}
	}
	s.SetRouteTable([]tcpip.Route{
		{Destination: header.IPv4EmptySubnet, NIC: nic},
		{Destination: header.IPv6EmptySubnet, NIC: nic},
	})
	for _, addr := range []netip.Addr{Gateway4, Gateway6} {
		server, err := g.listenDNS(s, addr)
		if err != nil {
			return nil, err
		}
		names = append(names, server)
	}
	return names, nil
}

func addAddress(s *stack.Stack, addr netip.Addr, bits int) tcpip.Error {
	return s.AddProtocolAddress(nic, tcpip.ProtocolAddress{
		Protocol:          protocolOf(addr),
		AddressWithPrefix: tcpip.AddressWithPrefix{Address: fromAddr(addr), PrefixLen: bits},
	}, stack.AddressProperties{})
}

func tuneTCP(s *stack.Stack) tcpip.Error {
	receive := tcpip.TCPReceiveBufferSizeRangeOption{Min: tcp.MinBufferSize, Default: bufferMost, Max: bufferMost}
	send := tcpip.TCPSendBufferSizeRangeOption{Min: tcp.MinBufferSize, Default: bufferMost, Max: bufferMost}
	sack, wait, moderate := tcpip.TCPSACKEnabled(true), tcpip.TCPTimeWaitTimeoutOption(timeWait), tcpip.TCPModerateReceiveBufferOption(false)
	for _, option := range []tcpip.SettableTransportProtocolOption{&receive, &send, &sack, &wait, &moderate} {
		if err := s.SetTransportProtocolOption(tcp.ProtocolNumber, option); err != nil {
			return err
		}
	}
	return nil
}

// The addresses in a box, the same in every one. 198.18.0.0/15 is set aside for
// tests of networks: nothing on the Internet has them, so nothing is hidden.
var (
	Box4     = netip.MustParseAddr("198.18.0.2")
	Gateway4 = netip.MustParseAddr("198.18.0.1")
	Box6     = netip.MustParseAddr("fd66:6f72:6b00::2")
	Gateway6 = netip.MustParseAddr("fd66:6f72:6b00::1")

	// own is what belongs to gates and boxes, reachable only as what this
	// package makes of it, whatever the rules say.
	own4 = netip.MustParsePrefix("198.18.0.0/15")
	own6 = netip.MustParsePrefix("fd66:6f72:6b00::/64")
)

// MTU is that of the box's device: as large as packets get, since each costs.
const MTU = 65520

const dnsPort = 53

func isGateway(a netip.Addr) bool { return a == Gateway4 || a == Gateway6 }

func isBox(a netip.Addr) bool { return a == Box4 || a == Box6 }

func isOwn(a netip.Addr) bool { return own4.Contains(a) || own6.Contains(a) }

// toAddr is the address as Go has it.
func toAddr(a tcpip.Address) netip.Addr {
	addr, _ := netip.AddrFromSlice(a.AsSlice())
	return addr
}

func toAddrPort(a tcpip.Address, port uint16) netip.AddrPort {
	return netip.AddrPortFrom(toAddr(a), port)
}

// fromAddr is the address as the stack has it.
func fromAddr(a netip.Addr) tcpip.Address { return tcpip.AddrFromSlice(a.AsSlice()) }

func protocolOf(a netip.Addr) tcpip.NetworkProtocolNumber {
	if a.Is4() {
		return header.IPv4ProtocolNumber
	}
	return header.IPv6ProtocolNumber
}
