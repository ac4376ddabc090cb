package gate

import (
	"os"
	"sync/atomic"
	"syscall"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// link is the stack's end of the TUN device. Reads wait in Go's poller, so a
// box costs a goroutine and no thread.
type link struct {
	file    *os.File
	raw     syscall.RawConn
	admit   func(raw []byte) bool
	target  atomic.Pointer[stack.NetworkDispatcher]
	done    chan struct{}
	dropped atomic.Int64
}

func newLink(file *os.File) (*link, error) {
	raw, err := file.SyscallConn()
	if err != nil {
		return nil, err
	}
	return &link{file: file, raw: raw, done: make(chan struct{})}, nil
}

// keepFrom is the size from which a packet stays in the buffer that it was read
// into. Smaller ones are copied: a box that sends single bytes must not have
// the gate hold 64 KiB for each.
const keepFrom = 16 << 10

// run reads packets until the device is closed or gone. While there is no stack
// it holds no buffer: many boxes never send more than their kernel's greetings.
func (l *link) run() {
	defer close(l.done)
	var room *buffer.View
	for {
		if room == nil {
			if !l.IsAttached() && !l.await() {
				return
			}
			room = buffer.NewViewSize(buffer.MaxChunkSize)
		}
		n, err := l.file.Read(room.AsSlice())
		if err != nil {
			return
		}
		room = l.take(room, n)
	}
}

// await waits for a packet, and says whether there can be one.
func (l *link) await() bool { return l.raw.Read(readable) == nil }

// take hands a packet to the stack, and returns the room that it lies in if that
// is to be used again.
func (l *link) take(room *buffer.View, n int) *buffer.View {
	packet := room.AsSlice()[:n]
	switch {
	case l.admit(packet):
	case l.IsAttached():
		return room
	default:
		room.Release()
		return nil
	}
	protocol := header.IPv4ProtocolNumber
	if packet[0]>>4 == 6 {
		protocol = header.IPv6ProtocolNumber
	}
	if n < keepFrom {
		l.deliver(protocol, buffer.NewViewWithData(packet))
		return room
	}
	room.CapLength(n)
	l.deliver(protocol, room)
	return nil
}

func (l *link) deliver(protocol tcpip.NetworkProtocolNumber, view *buffer.View) {
	pkt := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithView(view)})
	defer pkt.DecRef()
	// What comes from the box's kernel through memory was not damaged on the way.
	pkt.RXChecksumValidated = true
	if target := l.target.Load(); target != nil {
		(*target).DeliverNetworkPacket(protocol, pkt)
	}
}

// WritePackets gives the box packets of the stack's.
func (l *link) WritePackets(pkts stack.PacketBufferList) (int, tcpip.Error) {
	for _, pkt := range pkts.AsSlice() {
		if isSynAck(pkt) {
			l.sendLater(pkt)
			continue
		}
		l.write(pkt)
	}
	return pkts.Len(), nil
}

// isSynAck says whether a packet accepts a connection.
func isSynAck(pkt *stack.PacketBuffer) bool {
	const flags = header.TCPFlagSyn | header.TCPFlagAck
	tcp := pkt.TransportHeader().Slice()
	return pkt.TransportProtocolNumber == header.TCPProtocolNumber && len(tcp) >= header.TCPMinimumSize && header.TCP(tcp).Flags()&flags == flags
}

// sendLater has a packet written once the stack has let go of the connection
// that it is about. The box's kernel answers before the write returns, and the
// stack would spin, with a processor to itself, until it can look at that: it
// does not wait for the lock that it holds while a connection is accepted.
func (l *link) sendLater(pkt *stack.PacketBuffer) {
	view := pkt.ToView()
	go func() {
		defer view.Release()
		l.send(view.AsSlice())
	}()
}

// send gives the box one packet of our own.
func (l *link) send(packet []byte) { l.writeParts([][]byte{packet}) }

func (l *link) write(pkt *stack.PacketBuffer) {
	var room [8][]byte
	parts := room[:0]
	views, skip := pkt.AsViewList()
	for v := views.Front(); v != nil; v = v.Next() {
		part := v.AsSlice()
		if skip >= len(part) {
			skip -= len(part)
			continue
		}
		parts, skip = append(parts, part[skip:]), 0
	}
	l.writeParts(parts)
}

// writeParts writes one packet, or drops it as a network may: the stack holds
// locks here, and must not wait for a box that does not read.
func (l *link) writeParts(parts [][]byte) {
	err := l.raw.Write(func(fd uintptr) bool {
		if writev(int(fd), parts) != nil {
			l.dropped.Add(1)
		}
		return true
	})
	if err != nil {
		l.dropped.Add(1)
	}
}

// close ends run, and waits for it.
func (l *link) close() {
	l.file.Close()
	<-l.done
}

// Attach is called with the stack to deliver to, or nil at the end.
func (l *link) Attach(target stack.NetworkDispatcher) {
	if target == nil {
		l.target.Store(nil)
		return
	}
	l.target.Store(&target)
}

var _ stack.LinkEndpoint = (*link)(nil)

// The rest of what the stack wants to know of a link: a TUN device has neither
// addresses nor headers of its own.

func (l *link) MTU() uint32                             { return MTU }
func (l *link) SetMTU(uint32)                           {}
func (l *link) MaxHeaderLength() uint16                 { return 0 }
func (l *link) LinkAddress() tcpip.LinkAddress          { return "" }
func (l *link) SetLinkAddress(tcpip.LinkAddress)        {}
func (l *link) IsAttached() bool                        { return l.target.Load() != nil }
func (l *link) Wait()                                   {}
func (l *link) ARPHardwareType() header.ARPHardwareType { return header.ARPHardwareNone }
func (l *link) AddHeader(*stack.PacketBuffer)           {}
func (l *link) ParseHeader(*stack.PacketBuffer) bool    { return true }
func (l *link) Close()                                  {}
func (l *link) SetOnCloseAction(func())                 {}
func (l *link) Capabilities() stack.LinkEndpointCapabilities {
	return stack.CapabilityRXChecksumOffload
}
