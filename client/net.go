package client

import (
	"context"
	"net/http"

	"github.com/forkbox/forkbox"
)

// NetDocument is the network of a box.
type NetDocument struct {
	Box   string        `json:"box"` // its id
	Name  string        `json:"name"`
	State forkbox.State `json:"state"`
	Net   forkbox.Net   `json:"net"`
	forkbox.Network
}

// NetChange is rules to put in front of a box's own, or to take away; each is
// "allow X" or "deny X". A request does one of the two.
type NetChange struct {
	Add    []string `json:"add,omitempty"`
	Remove []string `json:"remove,omitempty"`
}

// ExplainRequest names what a box might try to reach: a URL, HOST[:PORT] or an
// address.
type ExplainRequest struct {
	Target string `json:"target"`
}

// Net is the network of a box: what it may reach, and who said so.
func (c *Client) Net(ctx context.Context, ref string) (doc NetDocument, err error) {
	err = c.call(ctx, "look at the network of box "+ref, http.MethodGet, boxPath(ref, "net"), nil, &doc)
	return doc, err
}

// ChangeNet changes the rules of a box, at once also of one that runs. Either
// all of it holds or nothing changed.
func (c *Client) ChangeNet(ctx context.Context, ref string, change NetChange) (box forkbox.Box, err error) {
	err = c.call(ctx, "change the network of box "+ref, http.MethodPatch, boxPath(ref, "net"), change, &box)
	return box, err
}

// Explain says what the gate of a box would make of a URL, HOST[:PORT] or an
// address. It connects to nothing.
func (c *Client) Explain(ctx context.Context, ref, target string) (verdict forkbox.NetVerdict, err error) {
	err = c.call(ctx, "explain "+target, http.MethodPost, boxPath(ref, "net", "explain"), ExplainRequest{Target: target}, &verdict)
	return verdict, err
}
