package intercept

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"time"
)

// upstream is how one client's requests go out: to the one address that the gate
// pinned, over connections that no other client shares, so that their bytes are
// counted for the right one.
type upstream struct {
	owner *Interceptor
	meta  Meta
	// ctx ends with the client. Nothing else ends an attempt to connect whose
	// client has more to send: net/http does not listen for its end then.
	ctx    context.Context
	cancel context.CancelFunc

	once      sync.Once
	transport *http.Transport

	lock   sync.Mutex
	closed bool
	conns  map[net.Conn]bool
}

func newUpstream(i *Interceptor, m Meta) *upstream {
	u := &upstream{owner: i, meta: m, conns: map[net.Conn]bool{}}
	u.ctx, u.cancel = context.WithCancel(context.Background())
	return u
}

// RoundTrip sends a request with the protocol that the client speaks: with
// HTTP/2 to a client that has it, where the server has it too, and never to one
// that may want to upgrade.
func (u *upstream) RoundTrip(r *http.Request) (*http.Response, error) {
	u.once.Do(func() { u.transport = u.newTransport(r.ProtoMajor == 2) })
	return u.transport.RoundTrip(r)
}

func (u *upstream) newTransport(h2 bool) *http.Transport {
	limits := u.owner.limits
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(h2)
	return &http.Transport{
		DialContext: u.dial, Protocols: protocols,
		HTTP2:               &http.HTTP2Config{MaxReceiveBufferPerStream: answerWindow, MaxReceiveBufferPerConnection: answerWindow * limits.Streams},
		TLSClientConfig:     u.tlsConfig(),
		TLSHandshakeTimeout: limits.HeadTime,
		IdleConnTimeout:     limits.IdleTime,
		// The client says itself whether it wants compression.
		DisableCompression:     true,
		MaxResponseHeaderBytes: int64(limits.HeaderBytes),
		// A client that waits for a go-ahead gets the server's own, if it comes.
		ExpectContinueTimeout: 2 * time.Second,
		WriteBufferSize:       scrubBuffer, ReadBufferSize: scrubBuffer,
	}
}

func (u *upstream) tlsConfig() *tls.Config {
	return &tls.Config{ServerName: u.meta.Host, RootCAs: u.owner.Roots, MinVersion: tls.VersionTLS12}
}

// dialError is of connecting, and so has nothing in it that the server said.
type dialError struct{ error }

func (e dialError) Unwrap() error { return e.error }

func (u *upstream) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(u.ctx, cancel)()
	conn, err := u.meta.Dial(ctx)
	if err != nil {
		return nil, dialError{err}
	}
	u.lock.Lock()
	defer u.lock.Unlock()
	if u.closed {
		_ = conn.Close()
		return nil, dialError{net.ErrClosed}
	}
	tracked := &upstreamConn{conn, u}
	u.conns[tracked] = true
	return tracked, nil
}

// upstreamConn is forgotten when it is closed.
type upstreamConn struct {
	net.Conn
	of *upstream
}

func (c *upstreamConn) CloseWrite() error { return closeWrite(c.Conn) }

func (c *upstreamConn) Close() error {
	c.of.lock.Lock()
	delete(c.of.conns, c)
	c.of.lock.Unlock()
	return c.Conn.Close()
}

// close ends all connections, also such as are idle or being made.
func (u *upstream) close() {
	u.cancel()
	u.lock.Lock()
	u.closed = true
	conns := make([]net.Conn, 0, len(u.conns))
	for conn := range u.conns {
		conns = append(conns, conn)
	}
	u.lock.Unlock()
	for _, conn := range conns {
		_ = conn.Close()
	}
}
