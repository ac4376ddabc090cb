package gate

import (
	"encoding/binary"
	"net/netip"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/checksum"
	"gvisor.dev/gvisor/pkg/tcpip/header"
)

// reason is why a packet goes no further, as ICMP says it.
type reason int

const (
	portUnreachable reason = iota
	prohibited             // by an administrator
)

// codes of "destination unreachable", for IPv4 and IPv6.
var codes4 = map[reason]byte{portUnreachable: 3, prohibited: 13}
var codes6 = map[reason]byte{portUnreachable: 4, prohibited: 1}

// unreachable is the packet that tells the sender of an original why it was not
// delivered. It comes from the address that the original was for: programs see
// it as that host's answer.
func unreachable(p packet, why reason) []byte {
	if p.src.Is4() {
		return unreachable4(p, codes4[why])
	}
	return unreachable6(p, codes6[why])
}

// What an error may quote of the original: as much as keeps it below the
// smallest MTU that every link has.
const (
	quote4 = 576 - 20 - 8
	quote6 = 1280 - 40 - 8
)

func unreachable4(p packet, code byte) []byte {
	quoted := p.raw[:min(len(p.raw), quote4)]
	out := make([]byte, 20+8+len(quoted))
	ip := header.IPv4(out)
	ip.Encode(&header.IPv4Fields{
		TotalLength: uint16(len(out)),
		TTL:         64,
		Protocol:    protoICMP,
		SrcAddr:     fromAddr(p.dst),
		DstAddr:     fromAddr(p.src),
	})
	ip.SetChecksum(^ip.CalculateChecksum())
	body := out[20:]
	body[0], body[1] = byte(header.ICMPv4DstUnreachable), code
	copy(body[8:], quoted)
	binary.BigEndian.PutUint16(body[2:], ^checksum.Checksum(body, 0))
	return out
}

func unreachable6(p packet, code byte) []byte {
	quoted := p.raw[:min(len(p.raw), quote6)]
	out := make([]byte, 40+8+len(quoted))
	header.IPv6(out).Encode(&header.IPv6Fields{
		PayloadLength:     uint16(8 + len(quoted)),
		TransportProtocol: tcpip.TransportProtocolNumber(protoICMP6),
		HopLimit:          64,
		SrcAddr:           fromAddr(p.dst),
		DstAddr:           fromAddr(p.src),
	})
	body := out[40:]
	body[0], body[1] = byte(header.ICMPv6DstUnreachable), code
	copy(body[8:], quoted)
	sum := header.PseudoHeaderChecksum(protoICMP6, fromAddr(p.dst), fromAddr(p.src), uint16(len(body)))
	binary.BigEndian.PutUint16(body[2:], ^checksum.Checksum(body, sum))
	return out
}

// isEcho says whether a packet is a ping.
func (p packet) isEcho() bool {
	if len(p.body) < 8 {
		return false
	}
	return p.proto == protoICMP && p.body[0] == byte(header.ICMPv4Echo) ||
		p.proto == protoICMP6 && p.body[0] == byte(header.ICMPv6EchoRequest)
}

// isError says whether a packet is itself an ICMP error, which must not be
// answered with one.
func (p packet) isError() bool {
	switch {
	case len(p.body) == 0:
		return p.proto == protoICMP || p.proto == protoICMP6
	case p.proto == protoICMP:
		switch header.ICMPv4Type(p.body[0]) {
		case header.ICMPv4Echo, header.ICMPv4Timestamp, header.ICMPv4InfoRequest:
			return false
		}
		return true
	case p.proto == protoICMP6:
		return p.body[0] < 128
	}
	return false
}

// isUpkeep says whether a packet is one of those that a kernel sends by itself
// to find neighbours, routers and groups. There are none; it is not an attempt
// of anybody.
func (p packet) isUpkeep() bool {
	switch p.proto {
	case protoIGMP:
		return true
	case protoICMP6:
		return len(p.body) > 0 && (p.body[0] >= 130 && p.body[0] <= 137 || p.body[0] == 143)
	}
	return false
}

// answerable says whether an error about a packet for this address has somebody
// to come from.
func answerable(dst netip.Addr) bool {
	return !dst.IsMulticast() && !dst.IsLoopback() && !dst.IsUnspecified() && dst != broadcast
}

var broadcast = netip.AddrFrom4([4]byte{255, 255, 255, 255})
