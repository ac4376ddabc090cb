package ingress

import (
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// router is the HTTP server for the URLs of all boxes.
type router struct {
	port   int
	room   *room
	log    *slog.Logger
	server *http.Server
	conns  group

	mu     sync.RWMutex
	routes map[place]*route
}

func newRouter(port int, room *room, log *slog.Logger) *router {
	r := &router{port: port, room: room, log: log, routes: map[place]*route{}}
	// Bodies may take as long as they like, headers may not: who sends none
	// would keep a place for ever.
	r.server = &http.Server{
		Handler: r, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	return r
}

// serve answers what comes to a listener until the router is closed. Every
// connection counts as running.
func (r *router) serve(l net.Listener, running *sync.WaitGroup) {
	err := r.server.Serve(&visitors{Listener: l, router: r, running: running})
	if !errors.Is(err, http.ErrServerClosed) {
		r.log.Error("URLs of boxes are no longer served", "error", err)
	}
}

// close ends the server and its connections, also those that it does not know
// of: just accepted, or upgraded to something else.
func (r *router) close() {
	_ = r.server.Close()
	r.conns.end()
}

func (r *router) set(at place, to *route) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.routes[at] = to
}

// unset takes a route away, unless another one has its place by now.
func (r *router) unset(was *route) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.routes[was.at] == was {
		delete(r.routes, was.at)
	}
}

func (r *router) find(at place) *route {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.routes[at]
}

// ServeHTTP finds the box that a request is for. Nothing but the Host header
// says so, and it only chooses among what was opened.
func (r *router) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	name, ours := below(req.Host)
	if !ours {
		answerMisdirected(w)
		return
	}
	at, ok := parsePlace(name)
	if !ok {
		answerNoPlace(w)
		return
	}
	to := r.find(at)
	switch {
	case to == nil:
		answerNotOpen(w, at)
	case req.Method == http.MethodConnect:
		answerNoTunnel(w)
	default:
		// A server may answer before it has read all, and go on reading.
		_ = http.NewResponseController(w).EnableFullDuplex()
		to.proxy.ServeHTTP(w, req)
	}
}

// visitors accepts as many connections at once as there is room for.
type visitors struct {
	net.Listener
	router  *router
	running *sync.WaitGroup
}

func (v *visitors) Accept() (net.Conn, error) {
	for {
		c, err := v.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if !v.router.room.enter() {
			cut(c)
			continue
		}
		v.running.Add(1)
		came := &visitor{TCPConn: c.(*net.TCPConn), from: v}
		if v.router.conns.add(came) {
			return came, nil
		}
	}
}

// visitor gives its place back when it is closed.
type visitor struct {
	*net.TCPConn
	from *visitors
	once sync.Once
}

func (v *visitor) Close() error {
	err := v.TCPConn.Close()
	v.once.Do(func() {
		v.from.router.conns.remove(v)
		v.from.router.room.leave()
		v.from.running.Done()
	})
	return err
}
