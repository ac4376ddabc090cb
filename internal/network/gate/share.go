package gate

import (
	"sync"

	"gvisor.dev/gvisor/pkg/tcpip"
)

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
