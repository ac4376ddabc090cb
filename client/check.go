package client

import (
	"context"
	"net/http"

	"github.com/forkbox/forkbox"
)

// CheckList is what doctor found.
type CheckList struct {
	Checks []forkbox.Check `json:"checks"`
}

// Doctor tries what this host can do, for real.
func (c *Client) Doctor(ctx context.Context) ([]forkbox.Check, error) {
	var list CheckList
	err := c.call(ctx, "examine this host", http.MethodGet, "/doctor", nil, &list)
	return list.Checks, err
}
