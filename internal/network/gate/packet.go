package gate

import (
	"encoding/binary"
	"net/netip"
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
