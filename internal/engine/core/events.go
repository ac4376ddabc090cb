package core

import (
	"context"
	"time"

	"github.com/forkbox/forkbox"
)

// About is an event of a box, to be told with what is written of it.
func (c *Core) About(box forkbox.Box, kind forkbox.EventKind, text string) forkbox.Event {
	return forkbox.Event{Box: box.ID, Name: box.Name, UID: box.Owner.UID, Kind: kind, Time: c.Now(), Text: text}
}

// AboutExec is one of an exec in a box.
func (c *Core) AboutExec(box forkbox.Box, exec string, kind forkbox.EventKind, text string) forkbox.Event {
	e := c.About(box, kind, text)
	e.Exec = exec
	return e
}

// With is an event with what programs want to know of it.
func With(e forkbox.Event, data forkbox.EventData) forkbox.Event {
	e.Data = &data
	return e
}

// Tell records what happened where nothing else is written with it. What cannot
// be recorded has happened all the same, so that nothing is held up by it.
func (c *Core) Tell(e forkbox.Event) {
	if e.Time.IsZero() {
		e.Time = c.Now()
	}
	if _, err := c.Ledger.AddEvent(context.WithoutCancel(c.Ctx), e); err != nil {
		c.Log.Error("cannot record an event", "box", e.Box, "kind", e.Kind, "text", e.Text, "error", err)
	}
}

// EventSpec is which events a caller wants.
type EventSpec struct {
	Box   string // of this one only
	Kinds forkbox.EventFilter
	After int64 // later ones than this id; Latest is from now on

	// Follow goes on until the context ends. Then OnBegin is called before the
	// first event, when nothing that happens is missed any more, and OnQuiet
	// whenever nothing was told for as long as Quiet.
	Follow  bool
	OnBegin func() error
	Quiet   time.Duration
	OnQuiet func() error
}

// Latest is the After of a caller who wants what happens from now on.
const Latest int64 = -1

// eventPage is how many events are read at once.
const eventPage = 500

// Events yields what happened to what who has, the oldest first.
func (c *Core) Events(ctx context.Context, who forkbox.Owner, spec EventSpec, yield func(forkbox.Event) error) error {
	const op = "list events"
	ctx, end, err := c.Begin(ctx, op)
	if err != nil {
		return err
	}
	defer end()
	box, err := c.EventsOf(ctx, who, spec.Box)
	if err != nil {
		return err
	}
	r := &eventReader{core: c, uid: who.UID, box: box, spec: spec, after: spec.After, yield: yield}
	if spec.After == Latest {
		if r.after, err = c.Ledger.LastEvent(ctx); err != nil {
			return err
		}
	}
	if !spec.Follow {
		return r.readAll(ctx)
	}
	if err := r.follow(ctx); err != nil {
		return err
	}
	if c.Ctx.Err() != nil { // and not the caller's
		return ErrClosing(op)
	}
	return nil
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

// eventReader reads events for one caller.
type eventReader struct {
	core  *Core
	uid   int
	box   string
	spec  EventSpec
	after int64 // what was yielded, or looked at and not wanted
	yield func(forkbox.Event) error
	wake  chan struct{} // has one when there may be something
}

// wants says whether an event is one for this caller.
func (r *eventReader) wants(e forkbox.Event) bool {
	return e.UID == r.uid && (r.box == "" || e.Box == r.box) && r.spec.Kinds.Wants(e.Kind)
}

// readAll reads what the ledger has, a page at a time: a caller who is slow, or
// far behind, costs no memory.
func (r *eventReader) readAll(ctx context.Context) error {
	for {
		page, err := r.core.Ledger.Events(ctx, forkbox.EventQuery{UID: &r.uid, Box: r.box, After: r.after, Limit: eventPage})
		if err != nil {
			return err
		}
		if err := r.pass(page); err != nil || len(page) < eventPage {
			return err
		}
	}
}

func (r *eventReader) pass(events []forkbox.Event) error {
	for _, e := range events {
		if r.wants(e) {
			if err := r.yield(e); err != nil {
				return err
			}
		}
		r.after = e.ID
	}
	return nil
}

// follow reads what there is and goes on until ctx ends.
func (r *eventReader) follow(ctx context.Context) error {
	r.wake = make(chan struct{}, 1)
	leave, err := r.core.wire.join(ctx, r) // before what there is is read: none is missed
	if err != nil {
		return err
	}
	defer leave()
	if r.spec.OnBegin != nil {
		if err := r.spec.OnBegin(); err != nil {
			return err
		}
	}
	if err := r.readAll(ctx); err != nil {
		return err
	}
	var quiet <-chan time.Time
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		if r.spec.Quiet > 0 {
			timer.Reset(r.spec.Quiet)
			quiet = timer.C
		}
		select {
		case <-ctx.Done():
			return nil
		case <-quiet:
			err = r.spec.OnQuiet()
		case <-r.wake:
			err = r.readOn(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// readOn reads what came of late, from memory where it is there.
func (r *eventReader) readOn(ctx context.Context) error {
	recent, whole := r.core.wire.since(r.after)
	if !whole {
		return r.readAll(ctx)
	}
	return r.pass(recent)
}
