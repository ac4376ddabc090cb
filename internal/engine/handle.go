package engine

import (
	"context"
	"sync"

	"github.com/forkbox/forkbox"
)

// handle is what the engine remembers of a box while the box runs or something
// is done to it.
type handle struct {
	id   string
	refs int // guarded by Engine.mu; a running box counts as one

	// turn holds one token: whoever has it may change the box's state. It is
	// held while an instance starts or stops, so it is not a sync.Mutex: those
	// who wait for it can give up.
	turn chan struct{}
	// rest is what the holder of the turn leaves to be done before the next
	// one gets it, without keeping its caller waiting.
	rest func()

	// mu guards what is read and changed in passing, also by the events of an
	// instance that the holder of the turn is waiting for. It is never held
	// while waiting for the turn.
	mu       sync.Mutex
	attached *attached // nil when the box does not run
}

// hold finds or makes the handle of a box, to be given back with release.
func (e *Engine) hold(id string) *handle {
	e.mu.Lock()
	defer e.mu.Unlock()
	h := e.handles[id]
	if h == nil {
		h = &handle{id: id, turn: make(chan struct{}, 1)}
		e.handles[id] = h
	}
	h.refs++
	return h
}

func (e *Engine) release(h *handle) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if h.refs--; h.refs == 0 {
		delete(e.handles, h.id)
	}
}

// lock waits for the box's turn.
func (e *Engine) lock(ctx context.Context, id string) (h *handle, unlock func(), err error) {
	h = e.hold(id)
	select {
	case h.turn <- struct{}{}:
		return h, func() { <-h.turn; e.release(h) }, nil
	case <-ctx.Done():
		e.release(h)
		return nil, nil, forkbox.Errorf(forkbox.Busy, "use box "+id,
			"something else is being done to it, and the wait was given up: %w", ctx.Err())
	}
}

// take resolves ref, waits for the box's turn, and reads the box as it is then.
func (e *Engine) take(ctx context.Context, who forkbox.Owner, ref string) (forkbox.Box, *handle, func(), error) {
	id, err := e.idOf(ctx, who, ref)
	if err != nil {
		return forkbox.Box{}, nil, nil, err
	}
	return e.takeID(ctx, id)
}

// takeID is take for somebody who knows whose box it is.
func (e *Engine) takeID(ctx context.Context, id string) (forkbox.Box, *handle, func(), error) {
	h, unlock, err := e.lock(ctx, id)
	if err != nil {
		return forkbox.Box{}, nil, nil, err
	}
	box, err := e.ledger.Box(ctx, id)
	if err != nil {
		unlock()
		return box, nil, nil, err
	}
	return box, h, unlock, nil
}

// idOf resolves ref. The id of a box that runs, which programs give, needs no
// look into the ledger to know whose it is.
func (e *Engine) idOf(ctx context.Context, who forkbox.Owner, ref string) (string, error) {
	if h := e.handle(ref); h != nil {
		if a := h.current(); a != nil && a.owner == who.UID {
			return ref, nil
		}
	}
	box, err := e.resolve(ctx, who, ref)
	return box.ID, err
}

// instanceOf is the instance of a box that the ledger says runs, nil when it
// turns out that none does; then the ledger says so too. The caller has its turn.
func (e *Engine) instanceOf(ctx context.Context, h *handle, box *forkbox.Box) (*attached, error) {
	return e.finder(ctx, h, box)
}

// handle is the handle of a box, nil when the box is at rest.
func (e *Engine) handle(id string) *handle {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.handles[id]
}

// current is the instance of a box that runs, nil when it does not.
func (h *handle) current() *attached {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.attached
}
