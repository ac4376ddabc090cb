package client

import (
	"context"

	"github.com/forkbox/forkbox/api"
)

// Version is the daemon's.
func (c *Client) Version(ctx context.Context) (api.Version, error) {
	return do(ctx, c.link, "ask the daemon's version", api.GetVersion, api.None{}, nil)
}
