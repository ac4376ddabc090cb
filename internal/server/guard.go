package server

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os/user"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"github.com/forkbox/forkbox"
)

// guard is around every route: it counts the request, checks who asks, and
// turns an error or a panic into an answer.
func (s *Server) guard(r route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		s.idle.enter()
		defer s.idle.leave()
		began := time.Now()
		aw := &answerWriter{ResponseWriter: w}
		err := s.admit(r, aw, req)
		if err != nil {
			aw.fail(err)
		}
		s.record(req, err, time.Since(began))
		if aw.cut {
			panic(http.ErrAbortHandler) // net/http closes the connection, without a word in the log
		}
	})
}

func (s *Server) admit(r route, w *answerWriter, req *http.Request) (err error) {
	defer func() {
		if p := recover(); p != nil {
			s.Log.Error("panic", "request", req.Method+" "+req.URL.Path, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = forkbox.Errorf(forkbox.Internal, "answer", "a defect in the daemon: %v", p).
				Hint("the daemon's log has the details")
		}
	}()
	req.Body = bound(w, req.Body)
	if r.access == owner {
		if err := s.serves(caller(req)); err != nil {
			return err
		}
	}
	return r.serve(s, w, req)
}

// serves says whether this daemon works for the peer. Only root can act with
// another user's rights; without root it would be with the daemon's own.
func (s *Server) serves(c *peerIdentity) error {
	const op = "serve this user"
	if c.err != nil {
		return forkbox.Errorf(forkbox.Denied, op, "who it is cannot be known: %w", c.err)
	}
	if s.uid != 0 && c.owner.UID != s.uid {
		return forkbox.Errorf(forkbox.Denied, op, "this daemon belongs to uid %d, not %d", s.uid, c.owner.UID).
			Hint("use your own: unset FORKBOX_HOME and FORKBOX_SOCKET")
	}
	return nil
}

func (s *Server) record(req *http.Request, err error, took time.Duration) {
	level, attrs := slog.LevelDebug, []any{"method", req.Method, "path", req.URL.Path, "uid", caller(req).owner.UID, "took", took}
	if err != nil {
		attrs = append(attrs, "error", err)
		if forkbox.CodeOf(err) == forkbox.Internal {
			level = slog.LevelError
		}
	}
	s.Log.Log(req.Context(), level, "request", attrs...)
}

// peerIdentity is who is at the other end of a connection.
type peerIdentity struct {
	owner forkbox.Owner
	err   error
}

type peerKey struct{}

// identify runs once per connection, before anything is read from it.
func (s *Server) identify(ctx context.Context, conn net.Conn) context.Context {
	who, err := s.peer(conn)
	return context.WithValue(ctx, peerKey{}, &peerIdentity{who, err})
}

func caller(r *http.Request) *peerIdentity {
	if c, ok := r.Context().Value(peerKey{}).(*peerIdentity); ok {
		return c
	}
	return &peerIdentity{err: fmt.Errorf("no connection")}
}

func who(r *http.Request) forkbox.Owner { return caller(r).owner }

// userCache remembers names and homes for a minute: reading the user database
// for every connection would cost more than most requests.
type userCache struct {
	mu    sync.Mutex
	users map[int]cachedUser
}

type cachedUser struct {
	name, home string
	until      time.Time
}

func newUserCache() *userCache { return &userCache{users: map[int]cachedUser{}} }

func (c *userCache) lookup(uid int) cachedUser {
	c.mu.Lock()
	defer c.mu.Unlock()
	if u, ok := c.users[uid]; ok && time.Now().Before(u.until) {
		return u
	}
	// A uid that the database does not know is still a user.
	u := cachedUser{name: strconv.Itoa(uid), home: "/", until: time.Now().Add(time.Minute)}
	if known, err := user.LookupId(u.name); err == nil {
		u.name, u.home = known.Username, known.HomeDir
	}
	c.users[uid] = u
	return u
}
