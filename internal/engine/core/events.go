package core

import (
	"context"
	"sync"

	"github.com/forkbox/forkbox"
)

// news lets those who follow events know that there is one.
type news struct {
	mu   sync.Mutex
	next chan struct{} // closed with the next event
}

// wait is closed when something happens from now on.
func (n *news) wait() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.next == nil {
		n.next = make(chan struct{})
	}
	return n.next
}

func (n *news) tell() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.next != nil {
		close(n.next)
		n.next = nil
	}
}

// Tell records what happened to a box. What cannot be recorded has happened all
// the same, so that nothing is held up by it.
func (c *Core) Tell(box forkbox.Box, kind forkbox.EventKind, exec, text string) {
	_, err := c.Ledger.AddEvent(context.WithoutCancel(c.Ctx), forkbox.Event{
		Box: box.ID, Name: box.Name, UID: box.Owner.UID, Exec: exec, Kind: kind, Time: c.Now(), Text: text,
	})
	if err != nil {
		c.Log.Error("cannot record an event", "box", box.ID, "kind", kind, "text", text, "error", err)
		return
	}
	c.news.tell()
}

// Events yields what happened to who's boxes, or to the box ref, after an id,
// the oldest first. With follow it goes on until ctx ends.
func (c *Core) Events(ctx context.Context, who forkbox.Owner, ref string, after int64, follow bool, yield func(forkbox.Event) error) error {
	const op = "list events"
	ctx, end, err := c.Begin(ctx, op)
	if err != nil {
		return err
	}
	defer end()
	box, err := c.EventsOf(ctx, who, ref)
	if err != nil {
		return err
	}
	for {
		next := c.news.wait() // before they are read: none is missed
		if after, err = c.eventsAfter(ctx, who, box, after, yield); err != nil || !follow {
			return err
		}
		select {
		case <-next:
		case <-ctx.Done(): // by the caller, or with the engine
			if c.Ctx.Err() != nil {
				return ErrClosing(op)
			}
			return nil
		}
	}
}

// EventsOf is the id of the box whose events are wanted. They outlive it: the
// id of one that is gone will do.
func (c *Core) EventsOf(ctx context.Context, who forkbox.Owner, ref string) (string, error) {
	if ref == "" {
		return "", nil
	}
	box, err := c.Resolve(ctx, who, ref)
	if IsNotFound(err) && likeAnID(ref) {
		return ref, nil
	}
	return box.ID, err
}

func (c *Core) eventsAfter(ctx context.Context, who forkbox.Owner, box string, after int64, yield func(forkbox.Event) error) (int64, error) {
	events, err := c.Ledger.Events(ctx, &who.UID, box, after, 0)
	if err != nil {
		return after, err
	}
	for _, event := range events {
		if err := yield(event); err != nil {
			return after, err
		}
		after = event.ID
	}
	return after, nil
}
