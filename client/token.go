package client

import (
	"context"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

// CreateToken makes a token. What it answers is the only time that its secret is
// shown.
func (c Keeper) CreateToken(ctx context.Context, req api.TokenRequest) (api.NewToken, error) {
	return do(ctx, c.link, "make a token", api.CreateToken, req, nil)
}

// Tokens lists the caller's; for root those of all users.
func (c Keeper) Tokens(ctx context.Context) ([]forkbox.Token, error) {
	list, err := do(ctx, c.link, "list tokens", api.ListTokens, api.None{}, nil)
	return list.Tokens, err
}

// RemoveToken ends a token, by its id or name, and those that were made with it.
func (c Keeper) RemoveToken(ctx context.Context, ref string) ([]forkbox.Token, error) {
	list, err := do(ctx, c.link, "end token "+ref, api.RemoveToken, api.None{}, nil, ref)
	return list.Tokens, err
}

// Listeners says where the daemon listens beside its socket, and what to pin.
func (c Keeper) Listeners(ctx context.Context) ([]api.Listener, error) {
	list, err := do(ctx, c.link, "ask where the daemon listens", api.ListListeners, api.None{}, nil)
	return list.Listeners, err
}
