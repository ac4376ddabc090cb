package client

import (
	"context"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

// Network is what boxes reach, and who reaches them.
type Network struct{ *link }

// Net is the network of a box: what it may reach, and who said so.
func (c Network) Net(ctx context.Context, ref string) (api.NetDocument, error) {
	return do(ctx, c.link, "look at the network of box "+ref, api.GetNet, api.None{}, nil, ref)
}

// ChangeNet changes the rules of a box, at once also of one that runs. Either
// all of it holds or nothing changed.
func (c Network) ChangeNet(ctx context.Context, ref string, change api.NetChange) (forkbox.Box, error) {
	return do(ctx, c.link, "change the network of box "+ref, api.ChangeNet, change, nil, ref)
}

// Explain says what the gate of a box would make of a URL, HOST[:PORT] or an
// address. It connects to nothing.
func (c Network) Explain(ctx context.Context, ref, target string) (forkbox.NetVerdict, error) {
	return do(ctx, c.link, "explain "+target, api.ExplainNet, api.ExplainRequest{Target: target}, nil, ref)
}
