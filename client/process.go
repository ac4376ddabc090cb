package client

import (
	"context"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

// Processes lists what runs in a box.
func (c *Client) Processes(ctx context.Context, ref string) ([]forkbox.Process, error) {
	list, err := do(ctx, c.link, "list processes of box "+ref, api.ListProcesses, api.None{}, nil, ref)
	return list.Processes, err
}
