package gate

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/miekg/dns"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

const (
	// askingLimit is how many questions of a box are being answered at a time.
	// Others are dropped: programs ask again.
	askingLimit = 64
	answerTime  = 10 * time.Second
	// dnsIdle is how long a TCP connection to the name server may be silent.
	dnsIdle = 10 * time.Second
)

// names answers the box's questions for names, as its judge decides.
type names struct {
	*judge
	asked atomic.Int64
}

// nameServer is the box's, at one of the gateway's addresses.
type nameServer struct {
	gate *Gate
	conn *gonet.UDPConn
}

func (g *Gate) listenDNS(s *stack.Stack, addr netip.Addr) (*nameServer, error) {
	at := tcpip.FullAddress{NIC: nic, Addr: fromAddr(addr), Port: dnsPort}
	conn, err := gonet.DialUDP(s, &at, nil, protocolOf(addr))
	if err != nil {
		return nil, err
	}
	return &nameServer{g, conn}, nil
}

// start answers from now on, unless it is too late.
func (s *nameServer) start() {
	if !s.gate.spawn(s.run) {
		s.conn.Close()
	}
}

// run answers questions that come by UDP.
func (s *nameServer) run() {
	stop := context.AfterFunc(s.gate.ctx, func() { s.conn.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	defer s.conn.Close()
	asking := make(chan struct{}, askingLimit)
	buf := make([]byte, dns.MaxMsgSize)
	for s.gate.ctx.Err() == nil {
		n, from, err := s.conn.ReadFrom(buf)
		if err != nil {
			continue
		}
		question := append([]byte(nil), buf[:n]...)
		select {
		case asking <- struct{}{}:
			s.gate.spawn(func() {
				defer func() { <-asking }()
				s.reply(question, from)
			})
		default:
			s.gate.link.dropped.Add(1)
		}
	}
}

func (s *nameServer) reply(question []byte, to net.Addr) {
	if answer := s.gate.names.answerBytes(question, false); answer != nil {
		s.conn.WriteTo(answer, to)
	}
}

// serveNames answers questions that come by TCP.
func (n *names) serveNames(conn *boxConn) {
	for {
		conn.SetDeadline(time.Now().Add(dnsIdle))
		var size [2]byte
		if _, err := io.ReadFull(conn, size[:]); err != nil {
			return
		}
		question := make([]byte, binary.BigEndian.Uint16(size[:]))
		if _, err := io.ReadFull(conn, question); err != nil {
			return
		}
		answer := n.answerBytes(question, true)
		if answer == nil || len(answer) > dns.MaxMsgSize {
			return
		}
		conn.SetDeadline(time.Now().Add(dnsIdle))
		if _, err := conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...)); err != nil {
			return
		}
	}
}

// answerBytes answers one question; nil where even an error would be too much.
func (n *names) answerBytes(question []byte, tcp bool) []byte {
	n.asked.Add(1)
	q := new(dns.Msg)
	if err := q.Unpack(question); err != nil || q.Response {
		return nil
	}
	ctx, cancel := context.WithTimeout(n.ctx, answerTime)
	defer cancel()
	m := n.answer(ctx, q)
	if !tcp {
		m.Truncate(sizeFor(q))
	}
	packed, err := m.Pack()
	if err != nil {
		return nil
	}
	return packed
}

// sizeFor is how large an answer by UDP may be.
func sizeFor(q *dns.Msg) int {
	if opt := q.IsEdns0(); opt != nil {
		return max(dns.MinMsgSize, int(opt.UDPSize()))
	}
	return dns.MinMsgSize
}
