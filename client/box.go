package client

import (
	"context"
	"net/http"
	"time"

	"github.com/forkbox/forkbox"
)

// CreateRequest asks for a new box. The zero value is a fork of reality with a
// generated name and the network that the host gives to those who say nothing.
type CreateRequest struct {
	Name string `json:"name,omitempty"`
	// From is "reality" (or nothing), BOX@SNAPSHOT, "empty", "dir:/a/b", or
	// "base:ID" of one that [Client.AddBase] made.
	From         string          `json:"from,omitempty"`
	Template     string          `json:"template,omitempty"` // instead of From
	Dir          string          `json:"dir,omitempty"`
	Env          forkbox.Strings `json:"env,omitempty"`
	AllowSecrets []string        `json:"allow_secrets,omitempty"`
	// Net is "none", "policy", "host" or the name of a team, and NetWish what
	// it is to reach.
	Net     string          `json:"net,omitempty"`
	NetWish forkbox.NetWish `json:"net_wish,omitzero"`
	// Wish is what limits it is to have.
	Wish forkbox.Wish `json:"wish,omitzero"`
	// Passing says that nothing of it will land: then what it was forked from
	// is not kept, which a merge would need.
	Passing bool `json:"passing,omitempty"`
}

// StopRequest says how long processes get to end by themselves. A nil Grace is
// the daemon's own choice.
type StopRequest struct {
	Grace *time.Duration `json:"grace,omitempty"`
}

// BoxList is a list of boxes.
type BoxList struct {
	Boxes []forkbox.Box `json:"boxes"`
}

// Boxes lists the caller's.
func (c *Client) Boxes(ctx context.Context) ([]forkbox.Box, error) {
	var list BoxList
	err := c.call(ctx, "list boxes", http.MethodGet, "/boxes", nil, &list)
	return list.Boxes, err
}

// Create makes a box. It is at rest: nothing runs in it.
func (c *Client) Create(ctx context.Context, req CreateRequest) (box forkbox.Box, err error) {
	err = c.call(ctx, "create box", http.MethodPost, "/boxes", req, &box)
	return box, err
}

// Box finds one by name, id or unambiguous prefix, as every method here does.
func (c *Client) Box(ctx context.Context, ref string) (box forkbox.Box, err error) {
	err = c.call(ctx, "find box "+ref, http.MethodGet, boxPath(ref), nil, &box)
	return box, err
}

// Start wakes a box and keeps it running until it is stopped.
func (c *Client) Start(ctx context.Context, ref string) (box forkbox.Box, err error) {
	err = c.call(ctx, "start box "+ref, http.MethodPost, boxPath(ref, "start"), nil, &box)
	return box, err
}

// Stop ends every process in a box and puts it to rest.
func (c *Client) Stop(ctx context.Context, ref string, grace *time.Duration) (box forkbox.Box, err error) {
	err = c.call(ctx, "stop box "+ref, http.MethodPost, boxPath(ref, "stop"), StopRequest{Grace: grace}, &box)
	return box, err
}

// Remove deletes a box with its changes. With force also one that runs.
func (c *Client) Remove(ctx context.Context, ref string, force bool) error {
	path := boxPath(ref)
	if force {
		path += "?force=1"
	}
	return c.call(ctx, "remove box "+ref, http.MethodDelete, path, nil, nil)
}
