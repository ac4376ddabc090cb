//go:build linux

package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// wiretap notes every packet that comes from the host, of whatever protocol:
// where a box must not be heard, not even a SYN is.
type wiretap struct {
	fd     int
	mu     sync.Mutex
	counts map[worldPacket]int
	lost   bool // the kernel had more than could be looked at
}

// worldPacket is where packets went to. Proto is the IP protocol's number.
type worldPacket struct {
	To    string
	Proto int
	Port  int
}

func newWiretap(device string) (*wiretap, error) {
	every := int(binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, unix.ETH_P_ALL)))
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, every)
	if err != nil {
		return nil, err
	}
	link, err := net.InterfaceByName(device)
	if err != nil {
		return nil, err
	}
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 64<<20)
	if err := unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: uint16(every), Ifindex: link.Index}); err != nil {
		return nil, err
	}
	w := &wiretap{fd: fd, counts: map[worldPacket]int{}}
	go w.listen()
	return w, nil
}

func (w *wiretap) listen() {
	buf := make([]byte, 128) // headers are enough
	for {
		n, from, err := unix.Recvfrom(w.fd, buf, 0)
		if err == unix.EINTR {
			continue
		} else if err != nil {
			return
		}
		link, ok := from.(*unix.SockaddrLinklayer)
		if !ok || link.Pkttype == unix.PACKET_OUTGOING {
			continue
		}
		if p, ok := packetOf(buf[:min(n, len(buf))]); ok {
			w.mu.Lock()
			w.counts[p]++
			w.mu.Unlock()
		}
	}
}

// packetOf reads the head of an IP packet.
func packetOf(b []byte) (p worldPacket, ok bool) {
	if len(b) < 20 {
		return p, false
	}
	head, dst := 0, netip.Addr{}
	switch b[0] >> 4 {
	case 4:
		head, p.Proto = int(b[0]&15)*4, int(b[9])
		dst = netip.AddrFrom4([4]byte(b[16:20]))
	case 6:
		if len(b) < 40 {
			return p, false
		}
		head, p.Proto = 40, int(b[6])
		dst = netip.AddrFrom16([16]byte(b[24:40]))
	default:
		return p, false
	}
	p.To = dst.String()
	if (p.Proto == unix.IPPROTO_TCP || p.Proto == unix.IPPROTO_UDP) && len(b) >= head+4 {
		p.Port = int(binary.BigEndian.Uint16(b[head+2:]))
	}
	return p, true
}

// fencePort is where a test sends a packet whose arrival says that all it sent
// before has been heard.
const fencePort = 9

// heard are the packets to an address, after the one to the address fence came.
func (w *wiretap) heard(addr, fence string) ([]string, error) {
	mark := worldPacket{To: fence, Proto: unix.IPPROTO_UDP, Port: fencePort}
	for end := time.Now().Add(worldPatience); ; time.Sleep(time.Millisecond) {
		w.mu.Lock()
		came := w.counts[mark] > 0
		w.mu.Unlock()
		if came {
			break
		}
		if time.Now().After(end) {
			return nil, fmt.Errorf("the fence %s was never heard", fence)
		}
	}
	s, err := unix.GetsockoptTpacketStats(w.fd, unix.SOL_PACKET, unix.PACKET_STATISTICS)
	if w.lost = w.lost || err == nil && s.Drops > 0; w.lost {
		err = errors.New("packets were missed: what was heard says nothing")
	}
	return w.to(addr, mark), err
}

func (w *wiretap) to(addr string, mark worldPacket) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.counts, mark)
	found := []string{}
	for p, n := range w.counts {
		if p.To == addr {
			found = append(found, fmt.Sprintf("%d× protocol %d to port %d", n, p.Proto, p.Port))
		}
	}
	return found
}
