package server

import (
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/listen"
)

// Outside is how callers come who are not peers of the unix socket.
type Outside struct {
	Listeners []*listen.Listener
	Names     listen.Names
	TLS       *tls.Config // nil where all are plain
	// Fingerprint is that of the certificate's key now.
	Fingerprint func() string
	Expires     func() time.Time
}

// What a caller from outside may take.
const (
	mostHeaders  = 64 << 10
	headerTime   = 10 * time.Second // with the handshake
	betweenCalls = 2 * time.Minute
)

// outsideServer is for all listeners beside the unix socket.
func (s *Server) outsideServer(handler http.Handler) *http.Server {
	return &http.Server{
		Handler:           handler,
		ConnContext:       s.identifyOutside,
		ReadHeaderTimeout: headerTime,
		IdleTimeout:       betweenCalls,
		MaxHeaderBytes:    mostHeaders,
		// Who fails at the handshake is no news: scanners do it all day.
		ErrorLog:     slog.NewLogLogger(s.Log.Handler(), slog.LevelDebug),
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){}, // HTTP/1.1 alone
	}
}

// serveOutside answers on the listeners beside the socket.
func (s *Server) serveOutside(web *http.Server, failed chan<- error) {
	for _, l := range s.Outside.Listeners {
		var on net.Listener = l
		if !l.Plain {
			on = tls.NewListener(l, s.Outside.TLS)
		}
		go func() { failed <- web.Serve(on) }()
	}
}

// Bodies from outside: each has a minute, or what [Config] says, and a second
// more for each so many bytes that it has brought.
const (
	bodyTime = time.Minute
	bodyRate = 1 << 10
)

// steadyBody is a body that ends with an error where it comes too slowly: whoever
// sends a byte a minute would keep a request for ever.
type steadyBody struct {
	io.ReadCloser
	control *http.ResponseController
	time    time.Duration

	mu    sync.Mutex // one who takes it may still read while another drains it
	began time.Time  // to be read
	last  time.Time  // where set, when it has to be over
	read  int64
}

// newSteadyBody sets the deadline at once: what a handler does not read, net/http
// reads before it answers, and would wait for it for ever.
func (s *Server) newSteadyBody(w http.ResponseWriter, body io.ReadCloser) *steadyBody {
	if body == nil {
		body = http.NoBody
	}
	b := &steadyBody{ReadCloser: body, control: http.NewResponseController(w), time: s.BodyTime}
	if body != http.NoBody {
		_ = b.control.SetReadDeadline(time.Now().Add(b.time))
	}
	return b
}

func (b *steadyBody) Read(p []byte) (int, error) {
	_ = b.control.SetReadDeadline(b.deadline())
	n, err := b.ReadCloser.Read(p)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.read += int64(n)
	switch {
	case err == io.EOF:
		// net/http watches the connection while the answer is made, and would take
		// the deadline for its end.
		_ = b.control.SetReadDeadline(time.Time{})
	case os.IsTimeout(err):
		err = forkbox.Errorf(forkbox.Invalid, "read the request", "its body comes too slowly: %d bytes so far", b.read).
			Hint("a body has a minute, and a second more for each KiB; and never more than a minute in which nothing comes")
	}
	return n, err
}

// deadline is that of the next bytes. That many came before is no leave to be silent now.
func (b *steadyBody) deadline() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if b.began.IsZero() {
		b.began = now // not before: a request may wait until it is read
	}
	ends := b.began.Add(b.time + time.Duration(b.read/bodyRate)*time.Second)
	for _, other := range []time.Time{now.Add(b.time), b.last} {
		if !other.IsZero() && other.Before(ends) {
			ends = other
		}
	}
	return ends
}

// endBy has whoever reads it be done by then, also who does so now.
func (b *steadyBody) endBy(at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last = at
	_ = b.control.SetReadDeadline(at)
}
