package client

import (
	"context"
	"net/http"
	"strconv"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

type matchKey struct{}

// IfUnchanged is a context for a call that changes a box: it fails with the code
// "changed", and does nothing, unless the box still is as it was when it was read.
func IfUnchanged(ctx context.Context, box forkbox.Box) context.Context {
	return context.WithValue(ctx, matchKey{}, box.Tag())
}

func setMatch(req *http.Request, route *api.Route) {
	if tag, ok := req.Context().Value(matchKey{}).(string); ok && route.Match == api.BoxMatch {
		req.Header.Set("If-Match", strconv.Quote(tag))
	}
}
