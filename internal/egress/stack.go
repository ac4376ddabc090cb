package egress

import (
	"errors"
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

// newStack makes a stack that answers for every address there is.
func (g *Gate) newStack() error {
	g.stack = stack.New(stack.Options{
		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol, ipv6.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol, udp.NewProtocol, icmp.NewProtocol4, icmp.NewProtocol6},
	})
	if err := g.configure(); err != nil {
		g.stack.Destroy()
		return err
	}
	forwarder := tcp.NewForwarder(g.stack, 0, inFlight, g.acceptTCP)
	g.stack.SetTransportProtocolHandler(tcp.ProtocolNumber, g.watchDrops(forwarder))
	g.stack.SetTransportProtocolHandler(udp.ProtocolNumber, g.acceptUDP)
	return nil
}

// watchDrops has SYNs that the forwarder drops unseen on record. It runs where
// packets are read, one at a time.
func (g *Gate) watchDrops(forwarder *tcp.Forwarder) func(stack.TransportEndpointID, *stack.PacketBuffer) bool {
	drops := g.stack.Stats().TCP.ForwardMaxInFlightDrop
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

func (g *Gate) configure() error {
	steps := []func() tcpip.Error{
		func() tcpip.Error { return g.stack.CreateNIC(nic, g.link) },
		// Promiscuous: packets for any address are for us. Spoofing: answers come
		// from that address.
		func() tcpip.Error { return g.stack.SetPromiscuousMode(nic, true) },
		func() tcpip.Error { return g.stack.SetSpoofing(nic, true) },
		func() tcpip.Error { return g.addAddress(Gateway4, 16) },
		func() tcpip.Error { return g.addAddress(Gateway6, 64) },
		func() tcpip.Error { return g.tuneTCP() },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return errors.New(err.String())
		}
	}
	g.stack.SetRouteTable([]tcpip.Route{
		{Destination: header.IPv4EmptySubnet, NIC: nic},
		{Destination: header.IPv6EmptySubnet, NIC: nic},
	})
	for _, addr := range []netip.Addr{Gateway4, Gateway6} {
		if err := g.listenDNS(addr); err != nil {
			return err
		}
	}
	return nil
}

func (g *Gate) addAddress(addr netip.Addr, bits int) tcpip.Error {
	return g.stack.AddProtocolAddress(nic, tcpip.ProtocolAddress{
		Protocol:          protocolOf(addr),
		AddressWithPrefix: tcpip.AddressWithPrefix{Address: fromAddr(addr), PrefixLen: bits},
	}, stack.AddressProperties{})
}

func (g *Gate) tuneTCP() tcpip.Error {
	receive := tcpip.TCPReceiveBufferSizeRangeOption{Min: tcp.MinBufferSize, Default: bufferMost, Max: bufferMost}
	send := tcpip.TCPSendBufferSizeRangeOption{Min: tcp.MinBufferSize, Default: bufferMost, Max: bufferMost}
	sack, wait, moderate := tcpip.TCPSACKEnabled(true), tcpip.TCPTimeWaitTimeoutOption(timeWait), tcpip.TCPModerateReceiveBufferOption(false)
	for _, option := range []tcpip.SettableTransportProtocolOption{&receive, &send, &sack, &wait, &moderate} {
		if err := g.stack.SetTransportProtocolOption(tcp.ProtocolNumber, option); err != nil {
			return err
		}
	}
	return nil
}
