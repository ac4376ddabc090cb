package ingress

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"sync"
	"syscall"
	"time"

	"github.com/forkbox/forkbox"
)

var errFull = errors.New("too many connections are open")

// unreached is why the box's port could not be connected to. All other errors
// are about what was said on a connection.
type unreached struct{ error }

func (u unreached) Unwrap() error { return u.error }

// it is not known whether that is because nothing listens. Where it was the
// box's init that tried, only the code of its error came here.
func (u unreached) noListener() bool {
	return errors.Is(u.error, syscall.ECONNREFUSED) || forkbox.CodeOf(u.error) == forkbox.Unavailable
}

// route leads requests to one port of a box.
type route struct {
	*door
	at        place
	box       string // its name, for people
	log       *slog.Logger
	transport *http.Transport
	proxy     *httputil.ReverseProxy
}

func newRoute(in *inlet, at place, dial Dial, log *slog.Logger) *route {
	r := &route{door: newDoor(at.port, in.room, dial), at: at, box: in.box.Name, log: log}
	r.transport = &http.Transport{
		DialContext:           r.connect,
		DisableCompression:    true, // what the box's server says goes on as it is
		MaxIdleConnsPerHost:   16,
		IdleConnTimeout:       30 * time.Second,
		ExpectContinueTimeout: time.Second,
	}
	r.proxy = &httputil.ReverseProxy{
		Transport: r.transport, Rewrite: r.rewrite, ErrorHandler: r.answerFailure,
		FlushInterval: -1, // events and logs are to be seen when they happen
		ErrorLog:      slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	return r
}

// rewrite leaves a request as it is, Host and Origin included. Servers compare
// the two against forged requests (WebSocket libraries, frameworks), and make
// redirects, cookies and links of Host: with "localhost:3000" in its place,
// Origin, Referer, Location and Set-Cookie would all have to be rewritten too,
// and links in pages could not be. Development servers that check Host against
// DNS rebinding (vite, webpack, Django, Rails) take every name below localhost.
//
// What the client says about other proxies is dropped: this one is the first.
func (r *route) rewrite(p *httputil.ProxyRequest) {
	p.Out.URL.Scheme = "http"
	p.Out.URL.Host = r.at.host() // only a key for idle connections: connect looks at no address
	p.Out.URL.RawQuery = p.In.URL.RawQuery
	p.Out.Host = p.In.Host
	p.SetXForwarded()
}

// connect reaches the box's port, whatever address is asked for.
func (r *route) connect(ctx context.Context, _, _ string) (net.Conn, error) {
	if !r.room.enter() {
		return nil, errFull
	}
	c, err := r.enter(ctx)
	if err != nil {
		r.room.leave()
		return nil, unreached{err}
	}
	return &inside{Conn: c, route: r}, nil
}

// end cuts what goes through, and what waits for another request.
func (r *route) end() {
	r.close()
	r.transport.CloseIdleConnections()
}

// answerFailure answers for a box that does not.
func (r *route) answerFailure(w http.ResponseWriter, req *http.Request, err error) {
	r.log.Debug("cannot reach an open port", "box", r.box, "port", r.port, "error", err)
	var u unreached
	switch {
	case req.Context().Err() != nil: // the visitor is gone
		panic(http.ErrAbortHandler)
	case errors.Is(err, errFull):
		answerCrowded(w, r)
	case errors.As(err, &u) && u.noListener():
		answerNoListener(w, r)
	case errors.As(err, &u):
		answerNoWay(w, r)
	default:
		answerBroken(w, r)
	}
}

// inside is a connection to a box's server. It gives its place back when it is
// closed.
type inside struct {
	net.Conn
	route *route
	once  sync.Once
}

func (c *inside) Close() error {
	c.once.Do(func() {
		c.route.leave(c.Conn)
		c.route.room.leave()
	})
	return nil
}

// CloseWrite lets a WebSocket, or what else a connection was upgraded to, end
// by halves.
func (c *inside) CloseWrite() error { return closeWrite(c.Conn) }

// answer says in plain text what went wrong and what to do. What it repeats of
// a request are parsed places only, never bytes as they came.
func answer(w http.ResponseWriter, status int, err *forkbox.Error) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	fmt.Fprintf(w, "error: %v\n", err)
	for _, hint := range err.Hints {
		fmt.Fprintf(w, "hint: %s\n", hint)
	}
}

// answerMisdirected turns away who came under a name that is not below localhost: a
// page elsewhere whose name was made to resolve to this machine, most likely.
func answerMisdirected(w http.ResponseWriter) {
	answer(w, http.StatusMisdirectedRequest, forkbox.Errorf(forkbox.Denied, opURL, "only names below localhost are served here").
		Hint("forkbox open BOX PORT tells the URL of a box's port"))
}

func answerNoPlace(w http.ResponseWriter) {
	answer(w, http.StatusNotFound, forkbox.Errorf(forkbox.NotFound, opURL, "the name is not PORT--BOX%s", suffix).
		Hint("forkbox open BOX PORT tells the URL of a box's port"))
}

// answerNotOpen says the same whether there is such a box or not: the visitor may be
// any user.
func answerNotOpen(w http.ResponseWriter, at place) {
	answer(w, http.StatusNotFound, forkbox.Errorf(forkbox.NotFound, opURL, "nothing is open at %s", at.host()).
		Hint("open it: forkbox open %s %d", at.label, at.port).
		Hint("what was open before the box or the daemon stopped has to be opened again"))
}

func answerNoTunnel(w http.ResponseWriter) {
	w.Header().Set("Allow", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")
	answer(w, http.StatusMethodNotAllowed, forkbox.Errorf(forkbox.Denied, opURL, "this is no proxy").
		Hint("send requests to the URL itself"))
}

func answerCrowded(w http.ResponseWriter, r *route) {
	w.Header().Set("Retry-After", "1")
	answer(w, http.StatusServiceUnavailable, forkbox.Errorf(forkbox.Busy, opURL, "box %s has as many connections as it may have", r.box).
		Hint("try again when some have ended"))
}

func answerNoListener(w http.ResponseWriter, r *route) {
	answer(w, http.StatusBadGateway, forkbox.Errorf(forkbox.Unavailable, opURL, "nothing listens on port %d of box %s", r.port, r.box).
		Hint("start the server in the box, on its loopback or on all addresses").
		Hint("forkbox wait %s --port %d tells when it is there", r.box, r.port))
}

// answerNoWay does not say why: the visitor may be any user, and the log has it.
func answerNoWay(w http.ResponseWriter, r *route) {
	answer(w, http.StatusBadGateway, forkbox.Errorf(forkbox.Unavailable, opURL, "box %s cannot be reached now", r.box).
		Hint("see whether it runs: forkbox ls"))
}

func answerBroken(w http.ResponseWriter, r *route) {
	answer(w, http.StatusBadGateway, forkbox.Errorf(forkbox.Unavailable, opURL, "port %d of box %s gives no answer in HTTP", r.port, r.box).
		Hint("if it is not an HTTP server: forkbox port %s %d", r.box, r.port))
}
