package gate

import (
	"io"
	"net"
	"sync"
	"syscall"

	"gvisor.dev/gvisor/pkg/tcpip"
)

// Buffers are for what is under way between the two ends. A connection has one
// only while there is something to copy: thousands can be open and silent. But
// it also has it while the other end does not take what was read, for as long as
// a box likes, so there are smaller ones where many are open: 4096 connections
// have no more than 116 MiB.
var bufferSizes = []struct {
	upTo int64 // open connections
	size int
	pool sync.Pool
}{
	{upTo: 64, size: 256 << 10},
	{upTo: 512, size: 32 << 10},
	{upTo: 1 << 62, size: 8 << 10},
}

// lender has buffers.
type lender interface {
	takeBuffer() *[]byte
	giveBuffer(*[]byte)
}

// takeBuffer lends one, until giveBuffer.
func (g *Gate) takeBuffer() *[]byte {
	open := g.open.Load()
	for i := range bufferSizes {
		if b := &bufferSizes[i]; open <= b.upTo {
			g.lent.Add(int64(b.size))
			if buf, ok := b.pool.Get().(*[]byte); ok {
				return buf
			}
			buf := make([]byte, b.size)
			return &buf
		}
	}
	panic("there is a size for any number")
}

func (g *Gate) giveBuffer(buf *[]byte) {
	g.lent.Add(-int64(len(*buf)))
	for i := range bufferSizes {
		if b := &bufferSizes[i]; b.size == len(*buf) {
			b.pool.Put(buf)
		}
	}
}

// datagrams lends buffers for one each: they cannot be read in parts.
type datagrams struct{ pool sync.Pool }

var datagramBuffers = &datagrams{sync.Pool{New: func() any { b := make([]byte, 64<<10); return &b }}}

func (d *datagrams) takeBuffer() *[]byte    { return d.pool.Get().(*[]byte) }
func (d *datagrams) giveBuffer(buf *[]byte) { d.pool.Put(buf) }

// fewOpen is how many connections have it quick at the cost of memory.
const fewOpen = 64

// growStack makes room for what the stack of protocols needs, in one step and
// while there is little to move. Else the first packets of a connection find
// their goroutine's stack too small, several times over.
func (g *Gate) growStack() {
	if g.open.Load() <= fewOpen {
		grow()
	}
}

//go:noinline
func grow() {
	var room [12 << 10]byte
	use(&room)
}

//go:noinline
func use(*[12 << 10]byte) {}

// Buffers get smaller the more connections a box has open, so that what it can
// have the gate hold has an end. A buffer that is full already does not shrink,
// so the end is the sum of all steps: 144 MiB for what it does not read, and as
// much for what others do not. What is being copied comes on top, see buffers.
const bufferMost = 4 << 20

var shares = []struct{ upTo, size int }{
	{8, bufferMost},
	{64, 512 << 10},
	{512, 64 << 10},
	{defaultConnections, 16 << 10},
}

// shareOf is the size of each buffer of a connection where n are open.
func shareOf(n int) int {
	for _, s := range shares {
		if n <= s.upTo {
			return s.size
		}
	}
	return 4 << 10
}

// share gives the open connections of a gate their part.
type share struct {
	mu   sync.Mutex
	open map[tcpip.Endpoint]struct{}
	size int
}

// add gives a new connection its part, and the others a smaller one where that
// is called for.
func (s *share) add(ep tcpip.Endpoint) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = map[tcpip.Endpoint]struct{}{}
	}
	s.open[ep] = struct{}{}
	s.divide(ep)
}

func (s *share) remove(ep tcpip.Endpoint) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, ep)
	s.divide(nil)
}

func (s *share) divide(fresh tcpip.Endpoint) {
	size := shareOf(len(s.open))
	switch {
	case size != s.size:
		s.size = size
		for ep := range s.open {
			setBuffers(ep, size)
		}
	case fresh != nil && size != bufferMost:
		setBuffers(fresh, size)
	}
}

func setBuffers(ep tcpip.Endpoint, size int) {
	ep.SocketOptions().SetSendBufferSize(int64(size), true)
	ep.SocketOptions().SetReceiveBufferSize(int64(size), true)
}

// eachReady calls f with what comes from a connection, until it ends: nil is a
// proper end. Where the connection is a socket, a buffer is held only while
// there is something to read.
func (g *Gate) eachReady(conn net.Conn, f func(data []byte) error) error {
	raw := rawOf(conn)
	for {
		err := g.nextReady(conn, raw, f)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func rawOf(conn net.Conn) syscall.RawConn {
	if socket, ok := conn.(syscall.Conn); ok {
		if raw, err := socket.SyscallConn(); err == nil {
			return raw
		}
	}
	return nil
}

func (g *Gate) nextReady(conn net.Conn, raw syscall.RawConn, f func(data []byte) error) error {
	if box, ok := conn.(*boxConn); ok { // a teammate's
		if err := box.eachRead(g, f); err != nil {
			return err
		}
		return io.EOF
	}
	buf, n, err := readReady(conn, raw, g)
	if buf == nil {
		return err
	}
	defer g.giveBuffer(buf)
	if n == 0 && err == nil {
		return io.EOF
	}
	if n > 0 {
		if failure := f((*buf)[:n]); failure != nil {
			return failure
		}
	}
	return err
}

// readReady reads once, into a buffer that the caller gives back if there is one.
func readReady(conn net.Conn, raw syscall.RawConn, from lender) (buf *[]byte, n int, err error) {
	if raw == nil {
		buf = from.takeBuffer()
		n, err = conn.Read(*buf)
		return buf, n, err
	}
	var failure error
	err = raw.Read(func(fd uintptr) bool {
		buf = from.takeBuffer()
		n, failure = readFD(int(fd), *buf)
		if failure != syscall.EAGAIN {
			return true
		}
		from.giveBuffer(buf)
		buf = nil
		return false
	})
	if err == nil {
		err = failure
	}
	return buf, max(n, 0), err
}
