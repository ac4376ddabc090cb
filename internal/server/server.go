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

	// IdleAfter, unless zero, ends Serve when no client has asked anything and
	// nothing has run for that long.
	IdleAfter time.Duration
	// Retire is called once before Serve ends for being idle. It takes the
	// socket's name away, so that a client that comes later starts a new
	// daemon instead of reaching one that is about to end.
	Retire func()
}

// Server answers requests.
type Server struct {
	Config
	peer     func(net.Conn) (forkbox.Owner, error)
	uid      int // the daemon's own
	idle     idleClock
	stopping chan struct{} // closed when Serve ends: streams and sessions let go
}

// New makes a server.
func New(config Config) *Server {
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	if config.Retire == nil {
		config.Retire = func() {}
	}
	if config.Races == nil {
		config.Races = racesOf(config.Engine)
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
	if err := web.Shutdown(drain); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	s.idle.wait(drain) // Shutdown does not wait for upgraded connections
	return web.Close()
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
