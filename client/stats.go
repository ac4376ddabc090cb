package client

import (
	"context"
	"net/http"

	"github.com/forkbox/forkbox"
)

// StatsList is what several boxes use.
type StatsList struct {
	Boxes []forkbox.BoxStats `json:"boxes"`
}

// Stats is what a box uses; with series also what it used in the last hour.
func (c *Client) Stats(ctx context.Context, ref string, series bool) (s forkbox.BoxStats, err error) {
	path := boxPath(ref, "stats")
	if series {
		path += "?series=1"
	}
	err = c.call(ctx, "measure box "+ref, http.MethodGet, path, nil, &s)
	return s, err
}

// AllStats is what each box of the caller's uses.
func (c *Client) AllStats(ctx context.Context) ([]forkbox.BoxStats, error) {
	var list StatsList
	err := c.call(ctx, "measure the boxes", http.MethodGet, "/stats", nil, &list)
	return list.Boxes, err
}
