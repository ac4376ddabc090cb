package listen

import (
	"net"
	"net/netip"
	"sync"
)

// Limit bounds how many are connected at once, in all and from one address. Who
// comes beyond it is hung up on at once: whoever waited in line would keep others
// from it.
type Limit struct {
	All, Each int // Each does not hold for loopback

	mu   sync.Mutex
	n    int
	from map[netip.Addr]int
}

func (l *Limit) around(inner net.Listener) net.Listener { return &limited{inner, l} }

type limited struct {
	net.Listener
	limit *Limit
}

func (l *limited) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		from := addrOf(conn.RemoteAddr())
		if l.limit.enter(from) {
			return &counted{Conn: conn, leave: func() { l.limit.leave(from) }}, nil
		}
		conn.Close()
	}
}

func (l *Limit) enter(from netip.Addr) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.n >= l.All || !from.IsLoopback() && l.from[from] >= l.Each {
		return false
	}
	if l.from == nil {
		l.from = map[netip.Addr]int{}
	}
	l.n++
	l.from[from]++
	return true
}

func (l *Limit) leave(from netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n--
	if l.from[from]--; l.from[from] == 0 {
		delete(l.from, from)
	}
}

// counted is a connection that counts until it is closed.
type counted struct {
	net.Conn
	once  sync.Once
	leave func()
}

func (c *counted) Close() error {
	c.once.Do(c.leave)
	return c.Conn.Close()
}

func addrOf(a net.Addr) netip.Addr {
	if tcp, ok := a.(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap().WithZone("")
	}
	return netip.Addr{}
}
