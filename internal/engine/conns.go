package engine

import (
	"context"
	"time"

	"github.com/forkbox/forkbox"
)

// flushLimit is how long a reader waits for records that are being written.
const flushLimit = 2 * time.Second

// ConnLog yields what who's boxes, or the box ref, tried to reach, after an id,
// the oldest first; with a limit the latest so many. With follow it goes on
// with each record as it is written, until ctx ends: a connection comes again,
// with the same id, when it ends.
func (e *Engine) ConnLog(ctx context.Context, who forkbox.Owner, ref string, after int64, limit int, follow bool, yield func(forkbox.Conn) error) error {
	const op = "list connections"
	ctx, end, err := e.begin(ctx, op)
	if err != nil {
		return err
	}
	defer end()
	box, err := e.eventsOf(ctx, who, ref)
	if err != nil {
		return err
	}
	if !follow {
		_, err = e.listConns(ctx, who.UID, box, after, limit, yield)
		return err
	}
	return e.followConns(ctx, op, who.UID, box, after, limit, yield)
}

// listConns yields what is written, and returns how far each was.
func (e *Engine) listConns(ctx context.Context, uid int, box string, after int64, limit int, yield func(forkbox.Conn) error) (map[int64]forkbox.ConnState, error) {
	soon, cancel := context.WithTimeout(ctx, flushLimit)
	defer cancel()
	e.records.flush(soon)
	conns, err := e.ledger.Conns(ctx, &uid, box, after, limit)
	if err != nil {
		return nil, err
	}
	seen := make(map[int64]forkbox.ConnState, len(conns))
	for _, c := range conns {
		if err := yield(c); err != nil {
			return nil, err
		}
		seen[c.ID] = c.State
	}
	return seen, nil
}

func (e *Engine) followConns(ctx context.Context, op string, uid int, box string, after int64, limit int, yield func(forkbox.Conn) error) error {
	f := e.followers.join(uid, box) // before they are read: none is missed
	defer e.followers.leave(f)
	seen, err := e.listConns(ctx, uid, box, after, limit, yield)
	if err != nil {
		return err
	}
	// What was written while they were read was heard, too.
	again := func(c forkbox.Conn) bool {
		was, has := seen[c.ID]
		return has && (c.State == was || c.State == forkbox.ConnOpen) || c.ID <= after && c.State != forkbox.ConnClosed
	}
	for {
		for _, c := range f.heard() {
			if again != nil && again(c) {
				continue
			}
			if err := yield(c); err != nil {
				return err
			}
		}
		again = nil
		select {
		case <-f.wake:
		case <-e.ctx.Done():
			return errClosing(op)
		case <-f.gone:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// endFollowers lets go of those who follow a box that is gone.
func (e *Engine) endFollowers(box string) { e.followers.end(box) }

// resumeRecords begins to record where the engine before this one ended.
func (e *Engine) resumeRecords(ctx context.Context) error {
	if err := e.ledger.LoseConns(ctx); err != nil {
		return err
	}
	last, err := e.ledger.Conns(ctx, nil, "", 0, 1)
	if err == nil && len(last) > 0 {
		e.connID.Store(last[0].ID)
	}
	return err
}
