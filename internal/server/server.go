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

	// IdleAfter, unless zero, ends Serve when nobody has asked anything and
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
