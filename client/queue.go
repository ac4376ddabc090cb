package client

import (
	"context"
	"net/http"

	"github.com/forkbox/forkbox"
)

// Queue is who waits for the host, the next first. Of others only their places
// are in it.
type Queue struct {
	Waiting []forkbox.Waiting `json:"waiting"`
}

// Queue is who waits for the host to have room.
func (c *Client) Queue(ctx context.Context) ([]forkbox.Waiting, error) {
	var queue Queue
	err := c.call(ctx, "look at the queue", http.MethodGet, "/queue", nil, &queue)
	return queue.Waiting, err
}
