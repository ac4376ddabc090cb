package intercept

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/forkbox/forkbox"
)

// Interceptor speaks HTTP for one box.
type Interceptor struct {
	Config
	limits Limits
	server *http.Server
	queue  *queue
	start  sync.Once
	slots  chan struct{} // one for each request that is under way
	asking atomic.Int64  // requests that have no whole answer yet, refused ones too

	lock    sync.Mutex
	closed  bool
	clients map[*client]bool
	serving sync.WaitGroup
}

// New makes an interceptor. It has no goroutine before the first connection.
func New(config Config) (*Interceptor, error) {
	if config.CA == nil || config.Check == nil {
		return nil, forkbox.Errorf(forkbox.Internal, "start the interceptor", "it has no CA or nobody to ask")
	}
	i := &Interceptor{Config: config, limits: config.Limits.filled(), queue: newQueue(), clients: map[*client]bool{}}
	i.slots = make(chan struct{}, i.limits.Requests)
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	i.server = &http.Server{
		Handler: http.HandlerFunc(i.handle), Protocols: protocols,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: i.limits.Streams, MaxReceiveBufferPerStream: uploadWindow, MaxReceiveBufferPerConnection: 4 * uploadWindow,
		},
		MaxHeaderBytes:    i.limits.HeaderBytes,
		ReadHeaderTimeout: i.limits.HeadTime, IdleTimeout: i.limits.IdleTime,
		// "OPTIONS *" is a request like any other, to be judged.
		DisableGeneralOptionsHandler: true,
		// What programs in a box send is no business of the daemon's log.
		ErrorLog:    log.New(io.Discard, "", 0),
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context { return withClient(ctx, conn) },
	}
	return i, nil
}

// Serve speaks with one client until it or the server has had enough. It closes
// conn.
func (i *Interceptor) Serve(conn net.Conn, m Meta) {
	c := newClient(i, conn, m)
	if !i.enter(c) {
		_ = conn.Close()
		return
	}
	defer i.leave(c)
	ready, ok := i.greet(c)
	if !ok || !i.queue.put(ready) {
		_ = c.Close()
		return
	}
	<-c.ended
}

func (i *Interceptor) enter(c *client) bool {
	i.lock.Lock()
	defer i.lock.Unlock()
	if i.closed {
		return false
	}
	i.start.Do(func() { i.serving.Go(func() { _ = i.server.Serve(i.queue) }) })
	i.clients[c] = true
	i.serving.Add(1)
	return true
}

// leave returns when nothing works for the client any longer.
func (i *Interceptor) leave(c *client) {
	c.leave()
	i.lock.Lock()
	delete(i.clients, c)
	i.lock.Unlock()
	i.serving.Done()
}

// Close ends all connections, and returns when they have ended.
func (i *Interceptor) Close() error {
	i.lock.Lock()
	i.closed = true
	for c := range i.clients {
		_ = c.Close()
		c.upstream.close()
	}
	i.lock.Unlock()
	_ = i.server.Close()
	_ = i.queue.Close()
	i.serving.Wait()
	return nil
}
