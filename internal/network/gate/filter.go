package gate

import (
	"fmt"

	"github.com/forkbox/forkbox"
)

// admit decides whether the stack may see a packet from the box. What it may
// not see is refused here, on record where a program tried something.
func (g *Gate) admit(raw []byte) bool {
	p, ok := parsePacket(raw)
	if !ok {
		g.link.dropped.Add(1)
		return false
	}
	switch {
	case p.isUpkeep() && !isBox(p.src) || p.isUpkeep() && p.dst.IsMulticast():
		return false
	case !isBox(p.src):
		g.refusePacket(p, "its source is not the box's address", false)
		return false
	case !answerable(p.dst) || isBox(p.dst):
		g.refusePacket(p, "it is for an address that never leaves a host", false)
		return false
	}
	return g.admitProtocol(p) && g.hasStack()
}

// hasStack makes sure that there is a stack to see a packet. Where it cannot be
// made the packet is lost, as packets are: its sender repeats it.
func (g *Gate) hasStack() bool {
	_, err := g.needStack()
	if err != nil {
		g.link.dropped.Add(1)
	}
	return err == nil
}

func (g *Gate) admitProtocol(p packet) bool {
	switch {
	case p.proto == protoTCP || p.proto == protoUDP:
		return true
	case p.isEcho() && isGateway(p.dst):
		return true
	case p.isError():
		// The box's kernel tells a teammate that no program listens there; any
		// other error may be made up to have the gate send smaller packets.
		return p.isPortUnreachable()
	}
	g.refusePacket(p, "only TCP and UDP pass the gate", true)
	return false
}

// isPortUnreachable is the one kind of error that a box may tell the gate.
func (p packet) isPortUnreachable() bool {
	if len(p.body) < 8 {
		return false
	}
	return p.proto == protoICMP && p.body[0] == 3 && p.body[1] == 3 ||
		p.proto == protoICMP6 && p.body[0] == 1 && p.body[1] == 4
}

// refusePacket records an attempt that is not TCP's or UDP's business, and tells
// the box's kernel so, where that makes sense.
func (g *Gate) refusePacket(p packet, why string, reply bool) {
	verdict := forkbox.NetVerdict{
		Target: forkbox.NetTarget{Proto: protoName(p.proto), Addr: p.dst, Port: p.port()},
		Why:    why,
	}
	g.log.refuse(verdict, nil)
	if reply && g.errors.take(1) {
		g.link.send(unreachable(p, prohibited))
	}
}

func protoName(proto uint8) string {
	switch proto {
	case protoTCP:
		return "tcp"
	case protoUDP:
		return "udp"
	case protoICMP, protoICMP6:
		return "icmp"
	}
	return fmt.Sprintf("ip-%d", proto)
}
