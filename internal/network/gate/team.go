package gate

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"syscall"

	"github.com/forkbox/forkbox"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/waiter"
)

// StandIn is the address by which this gate's box knows a teammate; not valid
// where it has thousands already.
func (g *Gate) StandIn(name string) netip.Addr { return g.stands.giveToMate(canonical(name)) }

// DialPeer connects to a port of this gate's box for the box named from, which
// it sees under the address that it can reach it by.
func (g *Gate) DialPeer(ctx context.Context, from, network string, port int) (net.Conn, error) {
	addr := g.StandIn(from)
	if !addr.IsValid() {
		return nil, forkbox.Errorf(forkbox.Busy, "reach the box "+g.cfg.Box.Name, "it knows too many teammates")
	}
	return g.DialIn(ctx, addr, network, port)
}

// DialIn connects to a port of the box's own address, from an address that
// stands for a teammate or the host.
func (g *Gate) DialIn(ctx context.Context, from netip.Addr, network string, port int) (net.Conn, error) {
	if g.ctx.Err() != nil {
		return nil, net.ErrClosed
	}
	s, err := g.needStack()
	if err != nil {
		return nil, err
	}
	local := tcpip.FullAddress{NIC: nic, Addr: fromAddr(from)}
	remote := tcpip.FullAddress{NIC: nic, Addr: fromAddr(Box4), Port: uint16(port)}
	if from.Is6() {
		remote.Addr = fromAddr(Box6)
	}
	switch network {
	case "tcp":
		return dialTCP(ctx, s, local, remote, protocolOf(from))
	case "udp":
		return gonet.DialUDP(s, &local, &remote, protocolOf(from))
	}
	return nil, fmt.Errorf("no network is called %q", network)
}

func dialTCP(ctx context.Context, s *stack.Stack, local, remote tcpip.FullAddress, protocol tcpip.NetworkProtocolNumber) (net.Conn, error) {
	queue := new(waiter.Queue)
	ep, err := s.NewEndpoint(tcp.ProtocolNumber, protocol, queue)
	if err != nil {
		return nil, errors.New(err.String())
	}
	entry, ready := waiter.NewChannelEntry(waiter.WritableEvents | waiter.EventHUp | waiter.EventErr)
	queue.EventRegister(&entry)
	defer queue.EventUnregister(&entry)
	if err = ep.Bind(local); err == nil {
		err = ep.Connect(remote)
	}
	if _, started := err.(*tcpip.ErrConnectStarted); started {
		select {
		case <-ctx.Done():
			ep.Close()
			return nil, ctx.Err()
		case <-ready:
			err = ep.LastError()
		}
	}
	if err != nil {
		ep.Close()
		return nil, dialError(err)
	}
	setBuffers(ep, mateBuffer)
	return newBoxConn(ep, queue), nil
}

// mateBuffer is the size of the buffers of a teammate's connection: those of
// the box that connects are counted, these come on top.
const mateBuffer = 128 << 10

// dialError is what a kernel would say.
func dialError(err tcpip.Error) error {
	switch err.(type) {
	case *tcpip.ErrConnectionRefused:
		return syscall.ECONNREFUSED
	case *tcpip.ErrTimeout:
		return os.ErrDeadlineExceeded
	}
	return errors.New(err.String())
}
