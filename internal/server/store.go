package server

import (
	"context"
	"net/http"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/api"
)

// Storekeeper is an engine that can change what boxes are kept in.
type Storekeeper interface {
	StoreStatus(ctx context.Context) (api.Store, error)
	// StoreInit makes a pool of so many bytes, StoreGrow makes it that large,
	// and StoreRemove does away with it. The first and the last refuse while
	// there are boxes, of any user.
	StoreInit(ctx context.Context, size int64) (api.Store, error)
	StoreGrow(ctx context.Context, size int64) (api.Store, error)
	StoreRemove(ctx context.Context) error
	// Repair brings back to the ledger what the store has, of any user.
	Repair(ctx context.Context) (forkbox.Repair, error)
}

// keeper is the engine's storekeeper, for those who may use it: the store
// belongs to all users of the daemon, so only root and the daemon's own user
// decide about it.
func (s storeRoutes) keeper(r *http.Request, op string) (Storekeeper, error) {
	if uid := who(r).UID; uid != 0 && uid != s.uid {
		return nil, forkbox.Errorf(forkbox.Denied, op, "it is kept for all users of this daemon").
			Hint("ask root, or the user that the daemon runs as")
	}
	keeper, ok := s.Engine.(Storekeeper)
	if !ok {
		return nil, forkbox.Errorf(forkbox.Unsupported, op, "this daemon keeps boxes in a way that has no pools")
	}
	return keeper, nil
}

func (s storeRoutes) getStore(r *http.Request, _ api.None) (store api.Store, err error) {
	keeper, err := s.keeper(r, "look at the store")
	if err != nil {
		return store, err
	}
	return keeper.StoreStatus(r.Context())
}

func (s storeRoutes) initStore(r *http.Request, req api.StoreRequest) (store api.Store, err error) {
	const op = "make a pool"
	keeper, err := s.keeper(r, op)
	if err == nil {
		err = checkSize(op, req.Size)
	}
	if err != nil {
		return store, err
	}
	return keeper.StoreInit(r.Context(), req.Size)
}

func (s storeRoutes) growStore(r *http.Request, req api.StoreRequest) (store api.Store, err error) {
	const op = "grow the pool"
	keeper, err := s.keeper(r, op)
	if err == nil {
		err = checkSize(op, req.Size)
	}
	if err != nil {
		return store, err
	}
	return keeper.StoreGrow(r.Context(), req.Size)
}

func (s storeRoutes) removeStore(r *http.Request, _ api.None) (none api.None, err error) {
	keeper, err := s.keeper(r, "remove the pool")
	if err != nil {
		return none, err
	}
	return none, keeper.StoreRemove(r.Context())
}

func (s storeRoutes) repairStore(r *http.Request, _ api.None) (repair forkbox.Repair, err error) {
	keeper, err := s.keeper(r, "repair the ledger")
	if err != nil {
		return repair, err
	}
	return keeper.Repair(r.Context())
}

func checkSize(op string, size int64) error {
	if size <= 0 {
		return forkbox.Errorf(forkbox.Invalid, op, "%d bytes are no size", size)
	}
	return nil
}

func (s storeRoutes) collectBoxes(r *http.Request, spec forkbox.GCSpec) (forkbox.GC, error) {
	gc, err := s.Engine.GC(r.Context(), who(r), spec)
	gc.Removed, gc.Kept = notNil(gc.Removed), notNil(gc.Kept)
	return gc, err
}

func (s storeRoutes) getUsage(r *http.Request, _ api.None) (forkbox.Usage, error) {
	usage, err := s.Engine.Usage(r.Context(), who(r))
	usage.Items = notNil(usage.Items)
	return usage, err
}
