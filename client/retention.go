package client

import (
	"context"
	"net/http"

	"github.com/forkbox/forkbox"
)

// KeepRequest says whether gc leaves a box alone. Keep has to be there: a
// request without it does not mean no.
type KeepRequest struct {
	Keep *bool `json:"keep"`
}

// Keep says whether gc leaves a box alone.
func (c *Client) Keep(ctx context.Context, ref string, keep bool) (box forkbox.Box, err error) {
	err = c.call(ctx, "keep box "+ref, http.MethodPut, boxPath(ref, "keep"), KeepRequest{Keep: &keep}, &box)
	return box, err
}

// GC clears boxes away, and what nothing needs any more.
func (c *Client) GC(ctx context.Context, spec forkbox.GCSpec) (done forkbox.GC, err error) {
	err = c.call(ctx, "clear up", http.MethodPost, "/gc", spec, &done)
	return done, err
}

// Usage is what takes the space of the caller's boxes.
func (c *Client) Usage(ctx context.Context) (u forkbox.Usage, err error) {
	err = c.call(ctx, "measure what is used", http.MethodGet, "/usage", nil, &u)
	return u, err
}
