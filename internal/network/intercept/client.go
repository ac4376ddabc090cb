package intercept

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
)

// client is a connection from the box.
type client struct {
	net.Conn
	Meta
	owner    *Interceptor
	upstream *upstream
	heads    *heads // nil for HTTP/2
	ended    chan struct{}
	once     sync.Once

	lock     sync.Mutex
	leaving  bool
	tunnel   *tunnel        // what the connection has become, or nil
	handlers sync.WaitGroup // its requests that are under way
}

func newClient(i *Interceptor, conn net.Conn, m Meta) *client {
	m.Host = bareHost(m.Host)
	return &client{Conn: conn, Meta: m, owner: i, ended: make(chan struct{}), upstream: newUpstream(i, m)}
}

// begin says whether a request may still begin; then finish follows.
func (c *client) begin() bool {
	c.lock.Lock()
	defer c.lock.Unlock()
	if !c.leaving {
		c.handlers.Add(1)
	}
	return !c.leaving
}

func (c *client) finish() { c.handlers.Done() }

// leave ends what is under way and waits for it.
func (c *client) leave() {
	c.lock.Lock()
	c.leaving = true
	c.lock.Unlock()
	c.upstream.close()
	c.handlers.Wait()
}

func (c *client) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() { close(c.ended) })
	return err
}

// CloseWrite lets the server say goodbye without cutting its last answer off.
func (c *client) CloseWrite() error { return closeWrite(c.Conn) }

func closeWrite(conn net.Conn) error {
	if half, can := conn.(interface{ CloseWrite() error }); can {
		return half.CloseWrite()
	}
	return nil
}

type clientKey struct{}

// withClient finds the client again in what the server was given.
func withClient(ctx context.Context, conn net.Conn) context.Context {
	switch conn := conn.(type) {
	case *heads:
		return context.WithValue(ctx, clientKey{}, conn.client)
	case *tls.Conn:
		return context.WithValue(ctx, clientKey{}, conn.NetConn().(*client))
	}
	return ctx
}

// queue hands connections to the server, as a listener does.
type queue struct {
	conns chan net.Conn
	ended chan struct{}
	once  sync.Once
}

func newQueue() *queue { return &queue{conns: make(chan net.Conn), ended: make(chan struct{})} }

func (q *queue) put(conn net.Conn) bool {
	select {
	case q.conns <- conn:
		return true
	case <-q.ended:
		return false
	}
}

func (q *queue) Accept() (net.Conn, error) {
	select {
	case conn := <-q.conns:
		return conn, nil
	case <-q.ended:
		return nil, net.ErrClosed
	}
}

func (q *queue) Close() error {
	q.once.Do(func() { close(q.ended) })
	return nil
}

func (q *queue) Addr() net.Addr { return &net.TCPAddr{} }
