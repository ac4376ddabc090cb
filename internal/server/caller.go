package server

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/access"
)

// connection is what is known of one before anything is read from it.
type connection struct {
	peer    *access.Principal // of the unix socket
	err     error             // why it is not known
	from    string            // "unix", or the caller's address
	outside bool              // not by the unix socket
}

// call is one request, and who makes it.
type call struct {
	*access.Principal
	id   string // of the request
	conn *connection
	body *steadyBody // of a request from outside

	entry   forkbox.Call // of the audit trail
	settled bool         // what became of it is recorded
	turns   bool         // its execs are recorded one by one
}

type (
	connKey struct{}
	callKey struct{}
)

// identify runs once per connection of the unix socket.
func (s *Server) identify(ctx context.Context, conn net.Conn) context.Context {
	owner, err := s.peer(conn)
	peer := &access.Principal{Owner: owner, Kind: access.Peer, Scopes: access.AllScopes}
	return context.WithValue(ctx, connKey{}, &connection{peer: peer, err: err, from: "unix"})
}

// identifyOutside runs once per connection of any other listener.
func (s *Server) identifyOutside(ctx context.Context, conn net.Conn) context.Context {
	from := conn.RemoteAddr().String()
	if host, _, err := net.SplitHostPort(from); err == nil {
		from = host
	}
	return context.WithValue(ctx, connKey{}, &connection{from: from, outside: true})
}

func connOf(r *http.Request) *connection {
	if c, ok := r.Context().Value(connKey{}).(*connection); ok {
		return c
	}
	return &connection{err: errors.New("no connection"), outside: true}
}

func callOf(r *http.Request) *call {
	if c, ok := r.Context().Value(callKey{}).(*call); ok {
		return c
	}
	return &call{Principal: nobody, conn: connOf(r)}
}

// who is the user that a request is done for.
func who(r *http.Request) forkbox.Owner { return callOf(r).Owner }

// nobody is a caller of whom nothing is known.
var nobody = &access.Principal{Kind: access.Nobody, Owner: forkbox.Owner{UID: -1, GID: -1}}

// authenticate finds who makes a request. What the caller shows counts before
// where it comes from: a peer that shows a token has no more than the token.
func (s *Server) authenticate(r *http.Request, conn *connection) (*access.Principal, error) {
	const op = "know who is asking"
	if shown := r.Header.Values("Authorization"); len(shown) > 0 {
		token, ok := access.ParseBearer(shown[0])
		if !ok || len(shown) > 1 || s.Tokens == nil {
			token = ""
		}
		if s.Tokens == nil {
			return nil, forkbox.Errorf(forkbox.Unauthenticated, op, "this daemon takes no tokens")
		}
		return s.Tokens.Authenticate(token)
	}
	switch {
	case !conn.outside && conn.err != nil:
		return nil, forkbox.Errorf(forkbox.Denied, "serve this user", "who it is cannot be known: %w", conn.err)
	case !conn.outside:
		return conn.peer, nil
	case r.TLS != nil && len(r.TLS.VerifiedChains) > 0:
		return s.Clients.Certified(r.TLS.VerifiedChains[0][0], s.Users)
	}
	return nil, forkbox.Errorf(forkbox.Unauthenticated, op, "the request has no token").
		Hint("send one: Authorization: Bearer fbx_…").
		Hint("make one where the daemon runs: forkbox token create --scope boxes,exec")
}

// requestIDs numbers requests that bring no id of their own.
var requestIDs = struct {
	prefix string
	last   atomic.Uint64
}{prefix: randomPrefix()}

func randomPrefix() string {
	random := make([]byte, 4)
	rand.Read(random)
	return hex.EncodeToString(random) + "-"
}

// requestID is the caller's, if it is one that can stand in a log, else a new
// one.
func requestID(r *http.Request) string {
	const longest = 64
	id := r.Header.Get("X-Request-Id")
	for i := range len(id) {
		c := id[i]
		word := c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '-' || c == '_' || c == '.'
		if !word || i >= longest {
			id = ""
			break
		}
	}
	if id == "" {
		return requestIDs.prefix + strconv.FormatUint(requestIDs.last.Add(1), 36)
	}
	return id
}
