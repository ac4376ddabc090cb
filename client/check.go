package client

import (
	"context"
	"net/url"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

// Doctor tries what this host can do, for real, and looks for strays above dir
// and wherever else they can be.
func (c *Client) Doctor(ctx context.Context, dir string) (api.CheckList, error) {
	return do(ctx, c.link, "examine this host", api.GetDoctor, api.None{}, url.Values{"dir": {dir}})
}

// MendStray restores a stray or deletes it.
func (c *Client) MendStray(ctx context.Context, dir string, fate forkbox.StrayFate) (forkbox.StrayMended, error) {
	return do(ctx, c.link, string(fate)+" "+dir, api.MendStray, api.StrayRequest{Dir: dir, Fate: fate}, nil)
}
