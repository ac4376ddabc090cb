package client

import (
	"context"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

// Stats is what a box uses; with series also what it used in the last hour.
func (c Limits) Stats(ctx context.Context, ref string, series bool) (forkbox.BoxStats, error) {
	return do(ctx, c.link, "measure box "+ref, api.GetStats, api.None{}, flags("series", series), ref)
}

// AllStats is what each box of the caller's uses.
func (c Limits) AllStats(ctx context.Context) ([]forkbox.BoxStats, error) {
	list, err := do(ctx, c.link, "measure the boxes", api.ListStats, api.None{}, nil)
	return list.Boxes, err
}
