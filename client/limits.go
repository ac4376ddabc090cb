package client

import (
	"context"
	"net/http"
	"time"

	"github.com/forkbox/forkbox"
)

// ExtendRequest gives a box more time. By has to be there, and above zero.
type ExtendRequest struct {
	By time.Duration `json:"by_ns"`
}

// HoldList is how each resource can be limited on this host.
type HoldList struct {
	Holds map[forkbox.Resource]forkbox.Holding `json:"holds"`
}

// PolicyDocument is the limits that a box would get.
type PolicyDocument struct {
	Policy forkbox.Policy `json:"policy"`
}

// Set changes the limits of a box, at once also of one that runs. What the wish
// does not name stays; [forkbox.Unlimited] lifts a limit. Either all of it holds
// or nothing changed.
func (c *Client) Set(ctx context.Context, ref string, wish forkbox.Wish) (box forkbox.Box, err error) {
	err = c.call(ctx, "limit box "+ref, http.MethodPatch, boxPath(ref, "limits"), wish, &box)
	return box, err
}

// Extend has a box end later by so much than it would.
func (c *Client) Extend(ctx context.Context, ref string, by time.Duration) (box forkbox.Box, err error) {
	err = c.call(ctx, "extend box "+ref, http.MethodPost, boxPath(ref, "extend"), ExtendRequest{By: by}, &box)
	return box, err
}

// Pause has everything in a box stand still.
func (c *Client) Pause(ctx context.Context, ref string) (box forkbox.Box, err error) {
	err = c.call(ctx, "pause box "+ref, http.MethodPost, boxPath(ref, "pause"), nil, &box)
	return box, err
}

// Resume has a paused box go on.
func (c *Client) Resume(ctx context.Context, ref string) (box forkbox.Box, err error) {
	err = c.call(ctx, "resume box "+ref, http.MethodPost, boxPath(ref, "resume"), nil, &box)
	return box, err
}

// Holds says how each resource can be limited on this host. Those that are not
// in it need nothing of the host.
func (c *Client) Holds(ctx context.Context) (map[forkbox.Resource]forkbox.Holding, error) {
	var list HoldList
	err := c.call(ctx, "ask what can be limited", http.MethodGet, "/limits", nil, &list)
	return list.Holds, err
}

// Policy is the limits that a box of the caller's would get. It makes none.
func (c *Client) Policy(ctx context.Context, wish forkbox.Wish) (forkbox.Policy, error) {
	var doc PolicyDocument
	err := c.call(ctx, "ask what would be limited", http.MethodPost, "/limits", wish, &doc)
	return doc.Policy, err
}
