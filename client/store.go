package client

import (
	"context"
	"net/http"

	"github.com/forkbox/forkbox"
)

// Store is where boxes are kept.
type Store struct {
	// Dir is the directory that they lie in, and Driver how layers are kept
	// there: "overlay", "btrfs", "reflink", "copy".
	Dir    string `json:"dir"`
	Driver string `json:"driver"`
	// Disk and Inodes are how the limits of those names are held in it.
	Disk   forkbox.Holding `json:"disk"`
	Inodes forkbox.Holding `json:"inodes"`
	// HostFree is what the filesystem has left that all of it lies on.
	HostFree int64 `json:"host_free_bytes"`
	Pool     *Pool `json:"pool,omitempty"` // nil where there is none
}

// Pool is a file with a filesystem of its own, in which boxes are kept.
type Pool struct {
	File      string `json:"file"`
	Size      int64  `json:"size_bytes"` // the most that it holds
	Used      int64  `json:"used_bytes"`
	Free      int64  `json:"free_bytes"`
	Allocated int64  `json:"allocated_bytes"` // what the file takes on the host
	// Simple says that its quotas are of the cheap kind.
	Simple bool `json:"simple_quotas"`
}

// StoreRequest is how large a pool is to be.
type StoreRequest struct {
	Size int64 `json:"size_bytes"`
}

// Store is where boxes are kept, and how much room there is.
func (c *Client) Store(ctx context.Context) (s Store, err error) {
	err = c.call(ctx, "look at the store", http.MethodGet, "/store", nil, &s)
	return s, err
}

// InitStore makes a pool and keeps boxes in it from now on. There must be none
// yet.
func (c *Client) InitStore(ctx context.Context, size int64) (s Store, err error) {
	err = c.call(ctx, "make a pool", http.MethodPost, "/store", StoreRequest{Size: size}, &s)
	return s, err
}

// GrowStore makes the pool larger, while boxes run.
func (c *Client) GrowStore(ctx context.Context, size int64) (s Store, err error) {
	err = c.call(ctx, "grow the pool", http.MethodPatch, "/store", StoreRequest{Size: size}, &s)
	return s, err
}

// Repair brings back to the ledger what the store has and the ledger does not.
func (c *Client) Repair(ctx context.Context) (done forkbox.Repair, err error) {
	err = c.call(ctx, "repair the ledger", http.MethodPost, "/store/repair", nil, &done)
	return done, err
}

// RemoveStore removes the pool. There must be no box.
func (c *Client) RemoveStore(ctx context.Context) error {
	return c.call(ctx, "remove the pool", http.MethodDelete, "/store", nil, nil)
}
