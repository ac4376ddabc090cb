package client

import (
	"context"
	"net/http"

	"github.com/forkbox/forkbox"
)

// ProcessList is a list of processes.
type ProcessList struct {
	Processes []forkbox.Process `json:"processes"`
}

// Processes lists what runs in a box.
func (c *Client) Processes(ctx context.Context, ref string) ([]forkbox.Process, error) {
	var list ProcessList
	err := c.call(ctx, "list processes of box "+ref, http.MethodGet, boxPath(ref, "processes"), nil, &list)
	return list.Processes, err
}
