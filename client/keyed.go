package client

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"net/http"

	"github.com/forkbox/forkbox/api"
)

type requestKey struct{}

// WithKey is a context for one call that makes something, of a route that takes a
// key. Called again with the same key and the same arguments, within a day, it is
// answered as it was the first time, and nothing is made twice.
//
//	ctx = client.WithKey(ctx, uuid)
//	box, err := c.Create(ctx, req)
//
// Calls with a key that lose the daemon on the way ask once more by themselves.
func WithKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, requestKey{}, key)
}

// setKey sends the caller's key, or one of its own to a daemon elsewhere: the way
// there may break when the request has arrived and the answer has not.
func (c *link) setKey(req *http.Request, route *api.Route) {
	if !route.Keyed {
		return
	}
	key, ok := req.Context().Value(requestKey{}).(string)
	switch {
	case ok:
		req.Header.Set(api.KeyHeader, key)
	case c.remote && (req.Body == nil || req.GetBody != nil):
		req.Header.Set(api.KeyHeader, rand.Text())
	}
}

// askAgain says whether a request that came to nothing is to be made once more.
func (c *link) askAgain(req *http.Request, err error) bool {
	var op *net.OpError
	dialled := errors.As(err, &op) && op.Op == "dial"
	switch {
	case err == nil || req.Context().Err() != nil:
		return false
	case req.Method == http.MethodGet:
		return c.Redial != nil // a daemon that died under the question; asking again asks the next
	}
	return req.Header.Get(api.KeyHeader) != "" && !dialled
}
