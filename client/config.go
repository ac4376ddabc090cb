package client

import (
	"context"

	"github.com/forkbox/forkbox/api"
)

// Configuration is what the daemon goes by, and where each part of it is from.
func (c *Client) Configuration(ctx context.Context) (api.Configuration, error) {
	return do(ctx, c.link, "show the configuration", api.GetConfig, api.None{}, nil)
}
