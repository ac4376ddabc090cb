package gate

import (
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/forkbox/forkbox"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"
	"gvisor.dev/gvisor/pkg/waiter"
)

const (
	sessionIdle = time.Minute
	// dnsSession is how long an exchange with a name server of the box's own
	// choice is kept.
	dnsSession = 10 * time.Second
)

// acceptUDP decides about the first packet of a session: later ones go straight
// to its endpoint. It runs where packets are read, so it must not wait.
func (g *Gate) acceptUDP(id stack.TransportEndpointID, pkt *stack.PacketBuffer) bool {
	to := toAddrPort(id.LocalAddress, id.LocalPort)
	from := socket{"udp", toAddrPort(id.RemoteAddress, id.RemotePort), to}
	w := g.decide("udp", to)
	if w.verdict.Allowed && (!g.reserve() || !g.reserveSession()) {
		w.verdict = g.tooMany(w.verdict)
	}
	if !w.verdict.Allowed {
		g.refuseUDP(w.verdict, from, pkt)
		return true
	}
	s, err := g.newSession(id, pkt)
	if err == nil {
		s.idle = g.idleFor(to)
		if g.spawn(func() { g.serveSession(s, w, from) }) {
			return true
		}
		s.close()
	}
	g.vacate()
	g.sessions.Add(-1)
	return true
}

// reserveSession takes a place among the sessions, or gives back what reserve
// took.
func (g *Gate) reserveSession() bool {
	if g.sessions.Add(1) <= sessionLimit {
		return true
	}
	g.sessions.Add(-1)
	g.vacate()
	return false
}

func (g *Gate) idleFor(to netip.AddrPort) time.Duration {
	if to.Port() == dnsPort {
		return dnsSession
	}
	return g.idle
}

// refuseUDP answers "port unreachable", as a host does without a listener:
// programs that try QUIC turn to TCP at once. The process is asked for first,
// in a goroutine of its own where it is not a repetition.
func (g *Gate) refuseUDP(v forkbox.NetVerdict, from socket, pkt *stack.PacketBuffer) {
	p, ok := parsePacket(pkt.ToView().AsSlice())
	reply := func() {
		if ok && g.errors.take(1) {
			g.link.send(unreachable(p, portUnreachable))
		}
	}
	if g.log.countRepeat(v) {
		reply()
		return
	}
	select {
	case g.side <- struct{}{}:
		if !g.spawn(func() {
			defer func() { <-g.side }()
			g.log.refuse(v, &from)
			reply()
		}) {
			<-g.side
		}
	default:
		g.log.refuse(v, nil)
		reply()
	}
}

// session is one of UDP between the box and the world: everything from one
// socket to one address and port.
type session struct {
	*flow
	box   *gonet.UDPConn
	ep    tcpip.Endpoint
	queue *waiter.Queue
	world net.Conn
	idle  time.Duration
	last  atomic.Int64 // when something came, in nanoseconds
	once  sync.Once
	over  chan struct{}
}

// sessionBuffer is how much of what the box sends may wait.
const sessionBuffer = 128 << 10

func (g *Gate) newSession(id stack.TransportEndpointID, pkt *stack.PacketBuffer) (*session, error) {
	queue := new(waiter.Queue)
	ep, err := udp.NewForwarderRequest(g.stack.Load(), id, pkt.Clone()).CreateEndpoint(queue)
	if err != nil {
		return nil, errors.New(err.String())
	}
	ep.SocketOptions().SetReceiveBufferSize(sessionBuffer, true)
	return &session{box: gonet.NewUDPConn(queue, ep), ep: ep, queue: queue, over: make(chan struct{})}, nil
}

// serveSession runs a session to its end.
func (g *Gate) serveSession(s *session, w way, from socket) {
	defer g.vacate()
	defer g.sessions.Add(-1)
	defer s.box.Close()
	world, err := w.dial(g.ctx)
	if err != nil {
		g.log.fail(failed(w.verdict, err), &from)
		return
	}
	s.world = world
	s.flow = g.start(w, g.log.findHolder(from), s.close, func() int64 { return 0 })
	defer s.flow.end()
	s.touch()
	var both sync.WaitGroup
	both.Go(s.upload)
	both.Go(s.download)
	both.Wait()
}

// close ends both directions.
func (s *session) close() {
	s.once.Do(func() {
		close(s.over)
		s.box.Close()
		if s.world != nil {
			s.world.Close()
		}
	})
}

func (s *session) touch() { s.last.Store(time.Now().UnixNano()) }

// expires is when the session is over if nothing more comes.
func (s *session) expires() time.Time { return time.Unix(0, s.last.Load()).Add(s.idle) }

// upload copies datagrams from the box to the world.
func (s *session) upload() {
	defer s.close()
	entry, ready := waiter.NewChannelEntry(wake)
	s.queue.EventRegister(&entry)
	defer s.queue.EventUnregister(&entry)
	for {
		switch err := s.uploadOne(); err.(type) {
		case nil:
		case *tcpip.ErrWouldBlock:
			select {
			case <-ready:
			case <-s.over:
				return
			}
		default:
			return
		}
	}
}

func (s *session) uploadOne() tcpip.Error {
	buf := datagramBuffers.takeBuffer()
	defer datagramBuffers.giveBuffer(buf)
	w := tcpip.SliceWriter(*buf)
	res, err := s.ep.Read(&w, tcpip.ReadOptions{})
	if err != nil {
		return err
	}
	s.touch()
	s.gate.up.wait(s.ctx, res.Count)
	n, _ := s.world.Write((*buf)[:res.Count]) // a lost datagram is the protocol's business
	s.out.Add(int64(n))
	return nil
}

// download copies datagrams from the world to the box, and ends the session when
// nothing has come either way for a while.
func (s *session) download() {
	defer s.close()
	raw := rawOf(s.world)
	for {
		s.world.SetReadDeadline(s.expires())
		err := s.downloadOne(raw)
		switch {
		case err == nil, errors.Is(err, syscall.ECONNREFUSED):
		case timedOut(err) && time.Now().Before(s.expires()):
		default:
			return
		}
	}
}

func (s *session) downloadOne(raw syscall.RawConn) error {
	buf, n, err := readReady(s.world, raw, datagramBuffers)
	if buf == nil {
		return err
	}
	defer datagramBuffers.giveBuffer(buf)
	if err != nil {
		return err
	}
	s.touch()
	s.gate.down.wait(s.ctx, n)
	if n, err := s.box.Write((*buf)[:n]); err == nil {
		s.in.Add(int64(n))
	}
	return nil
}
