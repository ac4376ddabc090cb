package client

import (
	"context"
	"net/http"
)

// Version says what a program was built from.
type Version struct {
	Version string `json:"version"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

// Version is the daemon's.
func (c *Client) Version(ctx context.Context) (v Version, err error) {
	err = c.call(ctx, "ask the daemon's version", http.MethodGet, "/version", nil, &v)
	return v, err
}
