package gate

import (
	"net/netip"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
)

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
