package gate

import (
	"errors"
	"io"
	"net"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/waiter"
)

// boxConn is the box's end of a TCP connection.
type boxConn struct {
	*gonet.TCPConn
	ep    tcpip.Endpoint
	queue *waiter.Queue
	// head is what was read ahead, and is read again first.
	head []byte
}

const (
	keepIdle  = 5 * time.Minute
	keepEvery = time.Minute
)

func newBoxConn(ep tcpip.Endpoint, queue *waiter.Queue) *boxConn {
	ep.SocketOptions().SetKeepAlive(true)
	ep.SocketOptions().SetDelayOption(false)
	idle, every := tcpip.KeepaliveIdleOption(keepIdle), tcpip.KeepaliveIntervalOption(keepEvery)
	ep.SetSockOpt(&idle)
	ep.SetSockOpt(&every)
	return &boxConn{TCPConn: gonet.NewTCPConn(queue, ep), ep: ep, queue: queue}
}

// Read gives what was read ahead first.
func (b *boxConn) Read(p []byte) (int, error) {
	if len(b.head) > 0 {
		n := copy(p, b.head)
		b.head = b.head[n:]
		return n, nil
	}
	return b.TCPConn.Read(p)
}

// abort resets the connection: the program in the box sees that it did not end
// as it should.
func (b *boxConn) abort() { b.ep.(interface{ Abort() }).Abort() }

// idleCost is about what a connection costs that has nothing in its buffers:
// measured, with its goroutines.
const idleCost = 21 << 10

// held is about how much memory it takes. What waits to be sent the stack does
// not tell.
func (b *boxConn) held() int64 {
	unread, err := b.ep.GetSockOptInt(tcpip.ReceiveQueueSizeOption)
	if err != nil {
		return idleCost
	}
	return int64(idleCost + unread)
}

// wake is what tells that there is something to read, or that there never will
// be.
const wake = waiter.ReadableEvents | waiter.EventHUp | waiter.EventErr | waiter.EventRdHUp

// eachRead calls f with what the box sends, until it ends: nil is a proper end.
// The buffer is a gate's, which may be a teammate's.
func (b *boxConn) eachRead(g *Gate, f func(data []byte) error) error {
	entry, ready := waiter.NewChannelEntry(wake)
	b.queue.EventRegister(&entry)
	defer b.queue.EventUnregister(&entry)
	for {
		switch err := b.readOnce(g, f); {
		case err == errWait:
			<-ready
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}

var errWait = errors.New("nothing to read yet")

func (b *boxConn) readOnce(g *Gate, f func(data []byte) error) error {
	buf := g.takeBuffer()
	defer g.giveBuffer(buf)
	w := tcpip.SliceWriter(*buf)
	res, err := b.ep.Read(&w, tcpip.ReadOptions{})
	switch err.(type) {
	case nil:
		return f((*buf)[:res.Count])
	case *tcpip.ErrWouldBlock:
		return errWait
	case *tcpip.ErrClosedForReceive:
		return io.EOF
	}
	return errors.New(err.String())
}

// awaitFirst waits until the box has sent something, without holding a buffer.
func (b *boxConn) awaitFirst() {
	entry, ready := waiter.NewChannelEntry(wake)
	b.queue.EventRegister(&entry)
	defer b.queue.EventUnregister(&entry)
	if b.ep.Readiness(wake) == 0 {
		<-ready
	}
}

var _ net.Conn = (*boxConn)(nil)
