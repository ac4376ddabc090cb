package client

import (
	"context"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

// Boxes lists the caller's.
func (c *Client) Boxes(ctx context.Context) ([]forkbox.Box, error) {
	list, err := do(ctx, c.link, "list boxes", api.ListBoxes, api.None{}, nil)
	return list.Boxes, err
}

// Create makes a box. It is at rest: nothing runs in it.
func (c *Client) Create(ctx context.Context, req api.CreateRequest) (forkbox.Box, error) {
	return do(ctx, c.link, "create box", api.CreateBox, req, nil)
}

// Box finds one by name, id or unambiguous prefix, as every method here does.
func (c *Client) Box(ctx context.Context, ref string) (forkbox.Box, error) {
	return do(ctx, c.link, "find box "+ref, api.GetBox, api.None{}, nil, ref)
}

// Start wakes a box and keeps it running until it is stopped.
func (c *Client) Start(ctx context.Context, ref string) (forkbox.Box, error) {
	return do(ctx, c.link, "start box "+ref, api.StartBox, api.None{}, nil, ref)
}

// Stop ends every process in a box and puts it to rest.
func (c *Client) Stop(ctx context.Context, ref string, grace *time.Duration) (forkbox.Box, error) {
	return do(ctx, c.link, "stop box "+ref, api.StopBox, api.StopRequest{Grace: grace}, nil, ref)
}

// Remove deletes a box with its changes. With force also one that runs.
func (c *Client) Remove(ctx context.Context, ref string, force bool) error {
	_, err := do(ctx, c.link, "remove box "+ref, api.RemoveBox, api.None{}, flags("force", force), ref)
	return err
}
