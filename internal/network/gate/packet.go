package gate

import (
	"encoding/binary"
	"net/netip"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/checksum"
	"gvisor.dev/gvisor/pkg/tcpip/header"
)

// Protocols by their numbers in IP headers.
const (
	protoICMP     = 1
	protoIGMP     = 2
	protoTCP      = 6
	protoUDP      = 17
	protoRouting  = 43
	protoFragment = 44
	protoICMP6    = 58
	protoNone     = 59
	protoOptions  = 60
)

// packet is what the gate has to know of a raw IP packet before the stack sees
// it. The box may have written any bytes.
type packet struct {
	raw      []byte
	src, dst netip.Addr
	proto    uint8
	// body begins with the transport header, or is empty in later fragments.
	body []byte
}

// parsePacket reads the headers, and trims what lies behind the packet.
func parsePacket(raw []byte) (packet, bool) {
	if len(raw) == 0 {
		return packet{}, false
	}
	switch raw[0] >> 4 {
	case 4:
		return parse4(raw)
	case 6:
		return parse6(raw)
	}
	return packet{}, false
}

func parse4(raw []byte) (packet, bool) {
	if len(raw) < 20 {
		return packet{}, false
	}
	header, total := int(raw[0]&0xf)*4, int(binary.BigEndian.Uint16(raw[2:]))
	if header < 20 || total < header || total > len(raw) {
		return packet{}, false
	}
	p := packet{
		raw:   raw[:total],
		src:   netip.AddrFrom4([4]byte(raw[12:16])),
		dst:   netip.AddrFrom4([4]byte(raw[16:20])),
		proto: raw[9],
	}
	if binary.BigEndian.Uint16(raw[6:])&0x1fff == 0 {
		p.body = p.raw[header:]
	}
	return p, true
}

func parse6(raw []byte) (packet, bool) {
	if len(raw) < 40 {
		return packet{}, false
	}
	total := 40 + int(binary.BigEndian.Uint16(raw[4:]))
	if total > len(raw) {
		return packet{}, false
	}
	p := packet{
		raw: raw[:total],
		src: netip.AddrFrom16([16]byte(raw[8:24])),
		dst: netip.AddrFrom16([16]byte(raw[24:40])),
	}
	return p.skipExtensions(raw[6], p.raw[40:])
}

// skipExtensions finds the transport protocol behind a bounded number of
// extension headers. A routing header could name other destinations than the
// one that is judged: it counts as a protocol, which nothing allows.
func (p packet) skipExtensions(next uint8, rest []byte) (packet, bool) {
	for range 8 {
		switch {
		case next == protoFragment && len(rest) >= 8:
			later := binary.BigEndian.Uint16(rest[2:])&0xfff8 != 0
			next, rest = rest[0], rest[8:]
			if later {
				p.proto = next
				return p, true
			}
		case (next == 0 || next == protoOptions) && len(rest) >= 8:
			size := (int(rest[1]) + 1) * 8
			if size > len(rest) {
				return p, false
			}
			next, rest = rest[0], rest[size:]
		case next == 0 || next == protoOptions || next == protoFragment:
			return p, false
		default:
			p.proto, p.body = next, rest
			return p, true
		}
	}
	return p, false
}

// port is where a TCP or UDP packet wants to go, 0 where that is not to be seen.
func (p packet) port() int {
	if (p.proto == protoTCP || p.proto == protoUDP) && len(p.body) >= 4 {
		return int(binary.BigEndian.Uint16(p.body[2:]))
	}
	return 0
}

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
// to find neighbours, routers and groups. A box has none of these, and no
// program of it tried anything.
func (p packet) isUpkeep() bool {
	switch p.proto {
	case protoIGMP:
		return true
	case protoICMP6:
		return len(p.body) > 0 && (p.body[0] >= 130 && p.body[0] <= 137 || p.body[0] == 143)
	}
	return false
}

// answerable says whether an error about a packet may be sent for this address:
// one that a single other host could have.
func answerable(dst netip.Addr) bool {
	return !dst.IsMulticast() && !dst.IsLoopback() && !dst.IsUnspecified() && dst != broadcast
}

var broadcast = netip.AddrFrom4([4]byte{255, 255, 255, 255})
