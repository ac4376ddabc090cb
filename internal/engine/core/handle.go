package core

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/forkbox/forkbox"
)

// Handle is what the engine remembers of a box while the box runs or something
// is done to it.
type Handle struct {
	ID   string
	refs int // guarded by Core.mu; a running box counts as one

	// turn holds one token: its holder may change the box's state. It is held
	// while an instance starts or stops, so it is not a sync.Mutex: callers who
	// wait for it can give up.
	turn chan struct{}
	// Rest is what the holder of the turn leaves to be done before the next
	// one gets it, without keeping its caller waiting.
	Rest func()

	// Untold is what the holder of the turn is to tell with what it writes of the
	// box next; Rest tells what is left of it.
	Untold []forkbox.Event

	// Mu guards what is read and changed in passing, also by the events of an
	// instance that the holder of the turn is waiting for. It is never held
	// while waiting for the turn.
	Mu       sync.Mutex
	Attached *Attached // nil when the box does not run
}

// TakeUntold is what is to be told with what is about to be written of the box.
// The caller has its turn; a nil handle has nothing to tell.
func (h *Handle) TakeUntold() []forkbox.Event {
	if h == nil {
		return nil
	}
	told := h.Untold
	h.Untold = nil
	return told
}

// Hold finds or makes the handle of a box, to be given back with Release.
func (c *Core) Hold(id string) *Handle {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.handles[id]
	if h == nil {
		h = &Handle{ID: id, turn: make(chan struct{}, 1)}
		c.handles[id] = h
	}
	h.refs++
	return h
}

// Release gives back what Hold gave.
func (c *Core) Release(h *Handle) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h.refs--; h.refs == 0 {
		delete(c.handles, h.ID)
	}
}

// Lock waits for the box's turn.
func (c *Core) Lock(ctx context.Context, id string) (h *Handle, unlock func(), err error) {
	h = c.Hold(id)
	select {
	case h.turn <- struct{}{}:
		return h, func() { <-h.turn; c.Release(h) }, nil
	case <-ctx.Done():
		c.Release(h)
		return nil, nil, forkbox.Errorf(forkbox.Busy, "use box "+id,
			"something else is being done to it, and the wait was given up: %w", ctx.Err())
	}
}

// Take resolves ref, waits for the box's turn, and reads the box as it is then.
func (c *Core) Take(ctx context.Context, who forkbox.Owner, ref string) (forkbox.Box, *Handle, func(), error) {
	id, err := c.IDOf(ctx, who, ref)
	if err != nil {
		return forkbox.Box{}, nil, nil, err
	}
	return c.TakeID(ctx, id)
}

// TakeID is Take for a caller who knows whose box it is.
func (c *Core) TakeID(ctx context.Context, id string) (forkbox.Box, *Handle, func(), error) {
	h, unlock, err := c.Lock(ctx, id)
	if err != nil {
		return forkbox.Box{}, nil, nil, err
	}
	box, err := c.Ledger.Box(ctx, id)
	if err != nil {
		unlock()
		return box, nil, nil, err
	}
	return box, h, unlock, nil
}

// IDOf resolves ref. The id of a box that runs, which programs give, needs no
// look into the ledger to know whose it is.
func (c *Core) IDOf(ctx context.Context, who forkbox.Owner, ref string) (string, error) {
	if h := c.HandleOf(ref); h != nil {
		if a := h.Current(); a != nil && a.Owner == who.UID {
			return ref, nil
		}
	}
	box, err := c.Resolve(ctx, who, ref)
	return box.ID, err
}

// HandleOf is the handle of a box, nil when the box is at rest.
func (c *Core) HandleOf(id string) *Handle {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.handles[id]
}

// Still says whether no operation goes on and no box's turn is held.
func (c *Core) Still() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, h := range c.handles {
		if len(h.turn) > 0 {
			return false
		}
	}
	return c.ops == 0
}

// Current is the instance of a box that runs, nil when it does not.
func (h *Handle) Current() *Attached {
	h.Mu.Lock()
	defer h.Mu.Unlock()
	return h.Attached
}

// AllHandles are those of the boxes that run or that something is done to.
func (c *Core) AllHandles() []*Handle {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]*Handle, 0, len(c.handles))
	for _, h := range c.handles {
		all = append(all, h)
	}
	return all
}

// Change is the frame of a verb that changes a box's state.
func (c *Core) Change(ctx context.Context, op string, who forkbox.Owner, ref string,
	do func(context.Context, *Handle, *forkbox.Box) error) (forkbox.Box, error) {
	ctx, end, err := c.Begin(ctx, op)
	if err != nil {
		return forkbox.Box{}, err
	}
	defer end()
	box, h, unlock, err := c.Take(ctx, who, ref)
	if err != nil {
		return forkbox.Box{}, err
	}
	defer c.passOn(h, unlock)
	if ctx, err = matched(ctx, op, box); err != nil {
		return forkbox.Box{}, err
	}
	return box, forkbox.Wrap(op, do(ctx, h, &box))
}

// passOn gives the box's turn to the next caller, when what was left to do in
// the background is done.
func (c *Core) passOn(h *Handle, unlock func()) {
	rest := h.Rest
	if rest == nil {
		unlock()
		return
	}
	h.Rest = nil
	c.Work.Go(func() {
		defer unlock()
		rest()
	})
}

// WhileCurrent does something to a box that still is the instance a. It takes the
// box's turn for that.
func (c *Core) WhileCurrent(h *Handle, a *Attached, do func(context.Context, *forkbox.Box) error) error {
	_, unlock, err := c.Lock(c.Ctx, h.ID)
	if err != nil {
		return err
	}
	defer unlock()
	if h.Current() != a {
		return nil
	}
	ctx := context.WithoutCancel(c.Ctx)
	box, err := c.Ledger.Box(ctx, h.ID)
	if err != nil {
		return err
	}
	return do(ctx, &box)
}

// Never is when to look again at what has no end: a change of it is told.
const Never time.Duration = math.MaxInt64

// WarnFailed logs that something cannot be done to a box, unless the daemon is
// ending.
func (c *Core) WarnFailed(what string, h *Handle, err error) {
	if err != nil && c.Ctx.Err() == nil {
		c.Log.Warn("cannot "+what, "box", h.ID, "error", err)
	}
}
