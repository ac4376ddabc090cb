package client

import (
	"context"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

// Keeper is what the daemon keeps: the store, secrets, what gc clears away.
type Keeper struct{ *link }

// Store is where boxes are kept, and how much room there is.
func (c Keeper) Store(ctx context.Context) (api.Store, error) {
	return do(ctx, c.link, "look at the store", api.GetStore, api.None{}, nil)
}

// InitStore makes a pool and keeps boxes in it from now on. There must be none
// yet.
func (c Keeper) InitStore(ctx context.Context, size int64) (api.Store, error) {
	return do(ctx, c.link, "make a pool", api.InitStore, api.StoreRequest{Size: size}, nil)
}

// GrowStore makes the pool larger, while boxes run.
func (c Keeper) GrowStore(ctx context.Context, size int64) (api.Store, error) {
	return do(ctx, c.link, "grow the pool", api.GrowStore, api.StoreRequest{Size: size}, nil)
}

// Repair brings back to the ledger what the store has and the ledger does not.
func (c Keeper) Repair(ctx context.Context) (forkbox.Repair, error) {
	return do(ctx, c.link, "repair the ledger", api.RepairStore, api.None{}, nil)
}

// RemoveStore removes the pool. There must be no box.
func (c Keeper) RemoveStore(ctx context.Context) error {
	_, err := do(ctx, c.link, "remove the pool", api.RemoveStore, api.None{}, nil)
	return err
}
