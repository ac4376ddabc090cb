package client

import (
	"context"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

// Queue is who waits for the host to have room.
func (c Limits) Queue(ctx context.Context) ([]forkbox.Waiting, error) {
	queue, err := do(ctx, c.link, "look at the queue", api.GetQueue, api.None{}, nil)
	return queue.Waiting, err
}
