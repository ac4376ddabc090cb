// Package server is the daemon's API: JSON over HTTP on a unix socket, under
// /v1. The routes are one table in routes.go. Who asks is read off the socket.
package server

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
	"github.com/forkbox/forkbox/internal/access"
	"github.com/forkbox/forkbox/internal/operations"
	"github.com/forkbox/forkbox/internal/profiling"
	"github.com/forkbox/forkbox/internal/replay"
	"github.com/forkbox/forkbox/internal/trace"
)

// maxBody bounds a request. The largest is an exec's with its environment,
// which the kernel itself bounds well below.
const maxBody = 8 << 20

// Config is what a server is made from.
type Config struct {
	Engine  Engine
	Vault   Vault // nil: secrets cannot be kept
	Races   Races // nil: those of the engine, if it has any
	Log     *slog.Logger
	Version string

	// Outside is how callers come beside the unix socket; nil: not at all.
	Outside *Outside
	// Tokens lets in who shows one; nil: no caller. Clients and Users are for those
	// who show a certificate.
	Tokens  *access.Tokens
	Clients access.Clients
	Users   *access.Users
	// Group is whose members a daemon of root's serves beside root; 0 and below:
	// everybody.
	Group int
	// Trail is told of all that is changed, and of all that is refused; nil: none is
	// kept.
	Trail *access.Trail
	// Keys has what was asked for with a key be answered again; nil: no request can
	// have one.
	Keys *replay.Keeper
	// Operations knows long work; nil: it cannot be followed, and callers wait for it.
	Operations *operations.Keeper
	// Requests bounds how often a token or certificate may ask, and Failures how
	// often an address may fail to show one; nil: nothing does. Upload is how many
	// bytes a request from outside may bring; 0: any number.
	Requests, Failures *access.Rate
	Upload             int64
	// BodyTime is how long a body from outside may take, beside a second for each
	// KiB of it; a minute if zero.
	BodyTime time.Duration

	// Configuration is what the daemon goes by, as a user may see it, and Checks
	// what doctor says of it. Both may be nil.
	Configuration func(who forkbox.Owner) api.Configuration
	Checks        func() []forkbox.Check

	// IdleAfter, unless zero, ends Serve when no client has asked anything and
	// nothing has run for that long.
	IdleAfter time.Duration
	// Heartbeat is how often a stream in which nothing happens says so;
	// [api.Heartbeat] if zero.
	Heartbeat time.Duration
	// Slowest is how long a reader of events may not read before it is cut off; half
	// a minute if zero.
	Slowest time.Duration
	// Parts says how each part of the daemon does. May be nil.
	Parts func(context.Context) []api.Part
	// Metrics answers a scraper, with what is told by owner of one uid, or of all
	// where that is nil; may be nil itself. Observe is told of each request, by the
	// name of its route and the code of its error. May be nil.
	Metrics func(w http.ResponseWriter, uid *int)
	Observe func(route, code string, took time.Duration)
	// Tracer has requests be traced; nil: none is.
	Tracer *trace.Tracer
	// Retire is called once before Serve ends for being idle. It takes the
	// socket's name away, so that a client that comes later starts a new
	// daemon instead of reaching one that is about to end.
	Retire func()
}

// Server answers requests.
type Server struct {
	Config
	peer      func(net.Conn) (forkbox.Owner, error)
	uid       int // the daemon's own
	idle      idleClock
	health    health
	profiling profiling.Profiler
	stopping  chan struct{} // closed when Serve ends: streams and sessions let go
}

// New makes a server.
func New(config Config) *Server {
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	if config.Heartbeat == 0 {
		config.Heartbeat = api.Heartbeat
	}
	if config.Slowest == 0 {
		config.Slowest = slowest
	}
	if config.BodyTime == 0 {
		config.BodyTime = bodyTime
	}
	if config.Retire == nil {
		config.Retire = func() {}
	}
	if config.Races == nil {
		config.Races = racesOf(config.Engine)
	}
	if config.Operations != nil && config.Operations.Events == nil {
		config.Operations.Events = eventsOf(config.Engine)
	}
	users := newUserCache()
	return &Server{
		Config:   config,
		peer:     users.peer,
		uid:      os.Geteuid(),
		stopping: make(chan struct{}),
	}
}

// drainTime is how long requests in flight get to finish when Serve ends.
const drainTime = 5 * time.Second

// Serve answers requests on l until ctx ends or the server was idle for long
// enough, and closes l. Execs go on: the next daemon finds them. It can be
// called once.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	web := &http.Server{
		Handler:           s.handler(),
		ConnContext:       s.identify,
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          slog.NewLogLogger(s.Log.Handler(), slog.LevelWarn),
	}
	failed := make(chan error, 1)
	outside := s.outsideServer(web.Handler)
	if s.Outside != nil {
		failed = make(chan error, 1+len(s.Outside.Listeners))
		s.serveOutside(outside, failed)
		s.IdleAfter = 0 // whoever comes from outside cannot start a daemon
	}
	go func() { failed <- web.Serve(l) }()

	idle := s.idle.after(ctx, s.IdleAfter, s.Engine.Busy)
	select {
	case err := <-failed:
		return err
	case <-idle:
		s.Log.Info("nothing to do", "idle", s.IdleAfter)
		s.retire()
	case <-ctx.Done():
		s.Log.Info("asked to stop")
	}
	close(s.stopping)
	drain, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	if err := errors.Join(web.Shutdown(drain), outside.Shutdown(drain)); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	s.idle.wait(drain) // Shutdown does not wait for upgraded connections
	if s.Operations != nil {
		s.Operations.Stop()
	}
	return errors.Join(web.Close(), outside.Close())
}

// retire gives those who connected just before the name went away the time to
// be accepted and answered.
func (s *Server) retire() {
	s.Retire()
	time.Sleep(50 * time.Millisecond)
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	s.idle.wait(ctx)
}

// lasting is a request's context for work that waits for something: it also
// ends when the server does.
func (s *Server) lasting(r *http.Request) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(r.Context())
	go func() {
		select {
		case <-s.stopping:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// idleClock counts the requests in flight, exec sessions included, and knows
// since when there are none.
type idleClock struct {
	mu     sync.Mutex
	active int
	since  time.Time
}

func (c *idleClock) enter() { c.add(1) }
func (c *idleClock) leave() { c.add(-1) }

func (c *idleClock) add(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.active += n
	c.since = time.Now()
}

// quiet says for how long there was nothing; busy starts the clock anew.
func (c *idleClock) quiet(busy bool) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if busy || c.active > 0 {
		c.since = time.Now()
	}
	return time.Since(c.since)
}

// after is closed once it was quiet for long enough; never, when limit is 0.
func (c *idleClock) after(ctx context.Context, limit time.Duration, busy func() bool) <-chan struct{} {
	if limit <= 0 {
		return nil
	}
	c.add(0)
	done := make(chan struct{})
	go func() {
		tick := time.NewTicker(min(limit/4+time.Millisecond, time.Second))
		defer tick.Stop()
		for c.quiet(busy()) < limit {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
		close(done)
	}()
	return done
}

// wait returns when no request is in flight, or when ctx ends.
func (c *idleClock) wait(ctx context.Context) {
	for ctx.Err() == nil {
		c.mu.Lock()
		active := c.active
		c.mu.Unlock()
		if active == 0 {
			return
		}
		time.Sleep(2 * time.Millisecond)
	}
}
