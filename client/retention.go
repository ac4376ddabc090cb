package client

import (
	"context"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

// Keep says whether gc leaves a box alone.
func (c Keeper) Keep(ctx context.Context, ref string, keep bool) (forkbox.Box, error) {
	return do(ctx, c.link, "keep box "+ref, api.KeepBox, api.KeepRequest{Keep: &keep}, nil, ref)
}

// GC clears boxes away, and what nothing needs any more.
func (c Keeper) GC(ctx context.Context, spec forkbox.GCSpec) (forkbox.GC, error) {
	return do(ctx, c.link, "clear up", api.CollectBoxes, spec, nil)
}

// Usage is what takes the space of the caller's boxes.
func (c Keeper) Usage(ctx context.Context) (forkbox.Usage, error) {
	return do(ctx, c.link, "measure what is used", api.GetUsage, api.None{}, nil)
}
