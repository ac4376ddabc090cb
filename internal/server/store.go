package server

import (
	"context"
	"net/http"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/client"
)

// Storekeeper is an engine that can change what boxes are kept in.
type Storekeeper interface {
	StoreStatus(ctx context.Context) (client.Store, error)
	// StoreInit makes a pool of so many bytes, StoreGrow makes it that large,
	// and StoreRemove does away with it. The first and the last refuse while
	// there are boxes, of any user.
	StoreInit(ctx context.Context, size int64) (client.Store, error)
	StoreGrow(ctx context.Context, size int64) (client.Store, error)
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

func (s storeRoutes) getStore(w http.ResponseWriter, r *http.Request) error {
	keeper, err := s.keeper(r, "look at the store")
	if err != nil {
		return err
	}
	return answerStore(w, http.StatusOK)(keeper.StoreStatus(r.Context()))
}

func (s storeRoutes) initStore(w http.ResponseWriter, r *http.Request) error {
	const op = "make a pool"
	keeper, err := s.keeper(r, op)
	if err != nil {
		return err
	}
	size, err := storeSize(r, op)
	if err != nil {
		return err
	}
	return answerStore(w, http.StatusCreated)(keeper.StoreInit(r.Context(), size))
}

func (s storeRoutes) growStore(w http.ResponseWriter, r *http.Request) error {
	const op = "grow the pool"
	keeper, err := s.keeper(r, op)
	if err != nil {
		return err
	}
	size, err := storeSize(r, op)
	if err != nil {
		return err
	}
	return answerStore(w, http.StatusOK)(keeper.StoreGrow(r.Context(), size))
}

func (s storeRoutes) removeStore(w http.ResponseWriter, r *http.Request) error {
	keeper, err := s.keeper(r, "remove the pool")
	if err != nil {
		return err
	}
	return done(w, keeper.StoreRemove(r.Context()))
}

func (s storeRoutes) repairStore(w http.ResponseWriter, r *http.Request) error {
	keeper, err := s.keeper(r, "repair the ledger")
	if err != nil {
		return err
	}
	repaired, err := keeper.Repair(r.Context())
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, repaired)
}

func storeSize(r *http.Request, op string) (int64, error) {
	var req client.StoreRequest
	if err := decodeExactly(r, &req); err != nil {
		return 0, err
	}
	if req.Size <= 0 {
		return 0, forkbox.Errorf(forkbox.Invalid, op, "%d bytes are no size", req.Size)
	}
	return req.Size, nil
}

func answerStore(w http.ResponseWriter, status int) func(client.Store, error) error {
	return func(store client.Store, err error) error {
		if err != nil {
			return err
		}
		return answer(w, status, store)
	}
}
