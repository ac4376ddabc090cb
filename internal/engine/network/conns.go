package network

import (
	"context"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
)

// flushLimit is how long a reader waits for records that are being written.
const flushLimit = 2 * time.Second

// ConnLog yields what who's boxes, or the box ref, tried to reach, after an id,
// the oldest first; with a limit the latest so many. With follow it goes on
// with each record as it is written, until ctx ends: a connection comes again,
// with the same id, when it ends.
func (m *Manager) ConnLog(ctx context.Context, who forkbox.Owner, ref string, after int64, limit int, follow bool, yield func(forkbox.Conn) error) error {
	const op = "list connections"
	ctx, end, err := m.core.Begin(ctx, op)
	if err != nil {
		return err
	}
	defer end()
	box, err := m.core.EventsOf(ctx, who, ref)
	if err != nil {
		return err
	}
	if !follow {
		_, err = m.listConns(ctx, who.UID, box, after, limit, yield)
		return err
	}
	return m.followConns(ctx, op, who.UID, box, after, limit, yield)
}

// listConns yields what is written, and returns how far each was.
func (m *Manager) listConns(ctx context.Context, uid int, box string, after int64, limit int, yield func(forkbox.Conn) error) (map[int64]forkbox.ConnState, error) {
	soon, cancel := context.WithTimeout(ctx, flushLimit)
	defer cancel()
	m.records.flush(soon)
	conns, err := m.core.Ledger.Conns(ctx, &uid, box, after, limit)
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

func (m *Manager) followConns(ctx context.Context, op string, uid int, box string, after int64, limit int, yield func(forkbox.Conn) error) error {
	f := m.followers.join(uid, box) // before they are read: none is missed
	defer m.followers.leave(f)
	seen, err := m.listConns(ctx, uid, box, after, limit, yield)
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
		case <-m.core.Ctx.Done():
			return core.ErrClosing(op)
		case <-f.gone:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// Followers is how many callers follow records of connections.
func (m *Manager) Followers() int { return m.followers.count() }

// EndFollowers lets go of those who follow a box that is gone.
func (m *Manager) EndFollowers(box string) { m.followers.end(box) }

// ResumeRecords begins to record where the engine before this one ended.
func (m *Manager) ResumeRecords(ctx context.Context) error {
	if err := m.core.Ledger.LoseConns(ctx); err != nil {
		return err
	}
	last, err := m.core.Ledger.Conns(ctx, nil, "", 0, 1)
	if err == nil && len(last) > 0 {
		m.connID.Store(last[0].ID)
	}
	return err
}
