package server

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os/user"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/access"
)

// guard is around every route: it counts the request, checks who asks, and
// turns an error or a panic into an answer.
func (s *Server) guard(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		s.idle.enter()
		defer s.idle.leave()
		began := time.Now()
		c := &call{Principal: nobody, id: requestID(req), conn: connOf(req)}
		ctx, span := s.Tracer.Begin(req.Context(), h.Name, req.Header.Get("traceparent"))
		req = req.WithContext(forkbox.WithRequest(context.WithValue(ctx, callKey{}, c), c.id))
		w.Header().Set("X-Request-Id", c.id)
		aw := &answerWriter{ResponseWriter: w, id: c.id}
		if CheckAnswer != nil {
			aw.copied = new(bytes.Buffer)
		}
		err := s.admit(h, c, aw, req)
		s.settle(h, c, err)
		if err != nil {
			aw.fail(err)
		}
		aw.check(h.Route)
		took := time.Since(began)
		s.record(c, req, err, took)
		if span != nil {
			span.Note("forkbox.request", c.id)
			span.Note("forkbox.box", req.PathValue("box"))
			span.Note("forkbox.code", string(codeOf(err)))
			span.End(err)
		}
		if s.Observe != nil {
			s.Observe(h.Name, string(codeOf(err)), took)
		}
		if aw.cut {
			panic(http.ErrAbortHandler) // net/http closes the connection, without a word in the log
		}
	})
}

func (s *Server) admit(h handler, c *call, w *answerWriter, req *http.Request) (err error) {
	defer func() {
		if p := recover(); p != nil {
			s.Log.ErrorContext(req.Context(), "panic", "method", req.Method, "path", req.URL.Path, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = forkbox.Errorf(forkbox.Internal, "answer", "a defect in the daemon: %v", p).
				Hint("the daemon's log has the details")
		}
	}()
	if c.conn.outside {
		if err := s.Outside.Names.Check(req); err != nil {
			return err
		}
		c.body = s.newSteadyBody(w, req.Body)
		req.Body = c.body
		if s.Upload > 0 {
			req.Body = http.MaxBytesReader(w, req.Body, s.Upload)
		}
	}
	req.Body = bound(w, req.Body)
	s.beginEntry(h, c, req)
	if len(h.Scopes) > 0 {
		if err := s.allow(h, c, w, req); err != nil {
			return err
		}
	}
	ctx, release := s.Tokens.Hold(req.Context(), c.Principal)
	defer release()
	req = req.WithContext(ctx)
	defer func() {
		if ended := access.Ended(ctx); ended != nil && err != nil {
			err = ended // whatever else that made of it
		}
	}()
	if err := s.announce(h, c, w); err != nil {
		return err
	}
	if err := checkQuery(h.Route, req); err != nil && h.Route != &noRoute {
		return err
	}
	req, err = withMatch(h.Route, req)
	if err != nil {
		return err
	}
	return s.serveOnce(h, w, req)
}

// allow finds out who makes the call, and refuses it to those who may not.
func (s *Server) allow(h handler, c *call, w http.ResponseWriter, req *http.Request) error {
	who, err := s.authenticate(req, c.conn)
	if err != nil {
		return s.slowDown(c, w, err)
	}
	c.Principal = who
	if who.Kind != access.Peer {
		if err := tooOften(s.Requests, who.Key(), w); err != nil {
			return err
		}
	}
	if err := s.serves(who); err != nil {
		return err
	}
	for _, scope := range h.Scopes {
		if !who.May(scope) {
			return access.Missing(who, scope, "answer", h.Name)
		}
	}
	if entersBox(h.Route) {
		return s.checkBox(req.Context(), who, "answer", req.PathValue("box"))
	}
	return nil
}

// serves says whether this daemon works for a user. Only root can act with
// another user's rights; without root it would be with the daemon's own.
func (s *Server) serves(p *access.Principal) error {
	if s.uid != 0 && p.Owner.UID != s.uid {
		return forkbox.Errorf(forkbox.Denied, "serve this user", "this daemon belongs to uid %d, not %d", s.uid, p.Owner.UID).
			Hint("use your own: unset FORKBOX_HOME and FORKBOX_SOCKET")
	}
	if s.uid == 0 && s.Group > 0 && p.Kind == access.Peer && p.Owner.UID != 0 && p.Owner.GID != s.Group && !slices.Contains(p.Owner.Groups, s.Group) {
		return forkbox.Errorf(forkbox.Denied, "serve this user", "%s is not in the group that this daemon serves", p.Owner.Name).
			Hint("root can change that: usermod -aG %s %s; then log in again", groupName(s.Group), p.Owner.Name)
	}
	return nil
}

func groupName(gid int) string {
	id := strconv.Itoa(gid)
	if group, err := user.LookupGroupId(id); err == nil {
		return group.Name
	}
	return id
}

// codeOf is what became of a request: "ok", or the code of its error.
func codeOf(err error) forkbox.Code {
	if err == nil {
		return "ok"
	}
	return forkbox.CodeOf(err)
}

func (s *Server) record(c *call, req *http.Request, err error, took time.Duration) {
	level, attrs := slog.LevelDebug, []any{"method", req.Method, "path", req.URL.Path, "uid", c.Owner.UID, "from", c.conn.from, "took", took}
	if box := req.PathValue("box"); box != "" {
		attrs = append(attrs, "box", box)
	}
	if err != nil {
		attrs = append(attrs, "error", err)
		if forkbox.CodeOf(err) == forkbox.Internal {
			level = slog.LevelError
		}
	}
	s.Log.Log(req.Context(), level, "request", attrs...)
}

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
