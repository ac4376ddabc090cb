package client

import (
	"context"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

// Services is what listens on the daemon's machine, as far as the caller may know.
func (c *Client) Services(ctx context.Context) ([]forkbox.Service, error) {
	list, err := do(ctx, c.link, "look for services", api.ListServices, api.None{}, nil)
	return list.Services, err
}
