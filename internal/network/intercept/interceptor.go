package intercept

import (
	"context"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

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
		return nil, forkbox.Errorf(forkbox.Internal, "start the interceptor", "it has no CA or no policy to ask")
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

// Config is what an [Interceptor] of one box needs.
type Config struct {
	// CA signs the certificates that the box's programs see.
	CA *CA
	// Check judges one request: Method and Path are set, the path as it will be
	// sent. Nil refuses everything.
	Check func(forkbox.NetTarget) forkbox.NetVerdict
	// Connect judges a host that a request has a proxy connect to: Host and Port
	// are set, or Addr and Port. Nil refuses such requests.
	Connect func(forkbox.NetTarget) forkbox.NetVerdict
	// Terminates says whether TLS to a host ends at the gate; nil: to none.
	Terminates func(host string, port int) bool
	// NeedsRequests says whether rules let only some requests pass to a host;
	// nil: to none.
	NeedsRequests func(host string, port int) bool
	// Secrets are the box's, as they are now. It is asked for each request.
	Secrets func() []Secret
	// Record is told of each request when it has been answered, or nil.
	Record func(Exchange)
	// Roots are what servers' certificates are checked against; nil: the system's.
	Roots *x509.CertPool
	// Remedy says what would allow a target that the interceptor itself refuses,
	// or nil.
	Remedy func(forkbox.NetTarget) string
	// Limits that are zero are the usual ones.
	Limits Limits
}

// Limits bound what a box can make the gate hold.
type Limits struct {
	HeaderBytes int           // of one request or answer; 64 KiB
	Streams     int           // at once in an HTTP/2 connection; 100
	Requests    int           // at once of the whole box; 256
	HeadTime    time.Duration // for a handshake, and for a request's head; 30 s
	IdleTime    time.Duration // between requests; 2 min
}

// What HTTP/2 lets the other side send although it is not read, on one stream.
// A box can leave as many answers unread as it may have requests, and the
// daemon serves all boxes. A box is near; of a server far away that much comes
// at a time.
const (
	uploadWindow = 64 << 10
	answerWindow = 256 << 10
)

// Secret is a value that a box uses without having it.
type Secret struct {
	Name        string
	Hosts       []string // exact, or *.x for every name below x
	Placeholder string
	Value       []byte
}

// Meta is what the gate knows of a connection.
type Meta struct {
	// Host is the name that was connected to, as DNS and SNI or Host agreed.
	// It is empty for a connection by raw address.
	Host string
	Addr netip.AddrPort
	TLS  bool
	// Dial connects to Addr. It is called for each connection that is needed.
	Dial func(context.Context) (net.Conn, error)
	// Refused is told of each request that is refused, or nil.
	Refused func(forkbox.NetVerdict)
}

// Exchange is one request and what became of it. Neither it nor anything in it
// has the value of a secret.
type Exchange struct {
	Verdict forkbox.NetVerdict
	Status  int      // of the answer that the box got; 0: none
	Secrets []string // names of those that were put in
	Failure string   // why an allowed request got no answer of the server's
}

// or is limit, or what it usually is.
func or[T int | time.Duration](limit, usual T) T {
	if limit > 0 {
		return limit
	}
	return usual
}

func (l Limits) filled() Limits {
	return Limits{
		HeaderBytes: or(l.HeaderBytes, 64<<10), Streams: or(l.Streams, 100), Requests: or(l.Requests, 256),
		HeadTime: or(l.HeadTime, 30*time.Second), IdleTime: or(l.IdleTime, 2*time.Minute),
	}
}
