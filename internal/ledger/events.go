package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/trace"
)

// journal is the part of a ledger that records events, with what they are.
type journal struct {
	write  *sql.DB
	read   *sql.DB
	stmts  *statements
	took   func(time.Duration) // told of each write; nil at first
	untold pruning
	news   news
}

// exec runs one statement and records the events that it is, in one step, and
// says how many rows it changed. Where it changed none nothing is told.
func (l *journal) exec(ctx context.Context, stmt *sql.Stmt, tell []forkbox.Event, args ...any) (changed int64, err error) {
	if len(tell) == 0 {
		defer l.measure(ctx, time.Now())
		res, err := stmt.ExecContext(steady(ctx), args...)
		if err != nil {
			return 0, err
		}
		return res.RowsAffected()
	}
	err = l.telling(ctx, tell, func(ctx context.Context, tx *sql.Tx) error {
		res, err := tx.StmtContext(ctx, stmt).ExecContext(ctx, args...)
		if err == nil {
			changed, err = res.RowsAffected()
		}
		if err == nil && changed == 0 {
			return errUnchanged
		}
		return err
	})
	if errors.Is(err, errUnchanged) {
		err = nil
	}
	return changed, err
}

// OnWrite implements [forkbox.Ledger].
func (l *journal) OnWrite(took func(time.Duration)) { l.took = took }

func (l *journal) measure(ctx context.Context, began time.Time) {
	trace.Past(ctx, "write to the ledger", began)
	if l.took != nil {
		l.took(time.Since(began))
	}
}

// errUnchanged takes back a step that did nothing.
var errUnchanged = errors.New("nothing was changed")

// telling does something and records the events that it is: all of it, or
// nothing.
func (l *journal) telling(ctx context.Context, tell []forkbox.Event, do func(context.Context, *sql.Tx) error) error {
	defer l.measure(ctx, time.Now())
	ctx = steady(ctx)
	tx, err := l.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := do(ctx, tx); err != nil {
		return err
	}
	if err := l.addEvents(ctx, tx, tell); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	if len(tell) > 0 {
		l.news.spread()
	}
	return nil
}

func (l *journal) addEvents(ctx context.Context, tx *sql.Tx, tell []forkbox.Event) error {
	if len(tell) == 0 {
		return nil
	}
	add, request := tx.StmtContext(ctx, l.stmts.addEvent), forkbox.RequestOf(ctx)
	for i := range tell {
		e := &tell[i]
		if e.Request == "" {
			e.Request = request
		}
		if e.Time.IsZero() {
			e.Time = time.Now()
		}
		e.Text = forkbox.EventText(e.Text)
		record, err := json.Marshal(e)
		if err != nil {
			return err
		}
		if err := add.QueryRowContext(ctx, e.UID, e.Box, e.Time.UnixNano(), string(record)).Scan(&e.ID); err != nil {
			return err
		}
	}
	return l.pruneOldEvents(ctx, tx, tell)
}

// AddEvent implements [forkbox.Ledger].
func (l *journal) AddEvent(ctx context.Context, e forkbox.Event) (forkbox.Event, error) {
	tell := []forkbox.Event{e}
	err := l.telling(ctx, tell, func(context.Context, *sql.Tx) error { return nil })
	return tell[0], failed("record event", err)
}

// What is kept of events: of each box, of one owner, and for how long. A box in
// which commands follow each other all day must not push out what happened to
// the others.
const (
	eventsOfABox    = 10_000
	eventsOfAnOwner = 50_000
	eventAge        = 30 * 24 * time.Hour
)

// pruneOldEvents deletes, in one step with what is added, what is too much.
func (l *journal) pruneOldEvents(ctx context.Context, tx *sql.Tx, added []forkbox.Event) error {
	now := time.Now()
	look := l.untold.due(len(added), func(i int) (string, int) { return added[i].Box, added[i].UID }, now)
	for _, box := range look.boxes {
		if _, err := tx.StmtContext(ctx, l.stmts.pruneBoxEvents).ExecContext(ctx, box, eventsOfABox); err != nil {
			return err
		}
	}
	for _, uid := range look.owners {
		if _, err := tx.StmtContext(ctx, l.stmts.pruneOwnerEvents).ExecContext(ctx, uid, eventsOfAnOwner); err != nil {
			return err
		}
	}
	if !look.old {
		return nil
	}
	_, err := tx.StmtContext(ctx, l.stmts.pruneEvents).ExecContext(ctx, now.Add(-eventAge).UnixNano())
	return err
}

// Events implements [forkbox.Ledger].
func (l *journal) Events(ctx context.Context, q forkbox.EventQuery) ([]forkbox.Event, error) {
	limit := q.Limit
	if limit <= 0 {
		limit = -1
	}
	switch {
	case q.Box != "":
		return readEvents(l.stmts.eventsOfBox.QueryContext(steady(ctx), q.After, limit, q.Box, orEverybody(q.UID)))
	case q.UID != nil:
		return readEvents(l.stmts.eventsOfOwner.QueryContext(steady(ctx), q.After, limit, *q.UID))
	}
	return readEvents(l.stmts.events.QueryContext(steady(ctx), q.After, limit))
}

func readEvents(rows *sql.Rows, err error) ([]forkbox.Event, error) {
	const op = "list events"
	if err != nil {
		return nil, failed(op, err)
	}
	defer rows.Close()
	var events []forkbox.Event
	for rows.Next() {
		e, err := readEvent(rows)
		if err != nil {
			return nil, failed(op, err)
		}
		events = append(events, e)
	}
	return events, failed(op, rows.Err())
}

// readEvent sets the id, which was not known yet when the record was written.
func readEvent(rows *sql.Rows) (e forkbox.Event, err error) {
	var id int64
	var record sql.RawBytes
	if err = rows.Scan(&id, &record); err == nil {
		err = json.Unmarshal(record, &e)
	}
	e.ID = id
	return e, err
}

// LastEvent implements [forkbox.Ledger].
func (l *journal) LastEvent(ctx context.Context) (id int64, err error) {
	err = l.stmts.lastEvent.QueryRowContext(steady(ctx)).Scan(&id)
	return id, failed("find the latest event", err)
}

// News implements [forkbox.Ledger].
func (l *journal) News() <-chan struct{} { return l.news.next() }

// news lets those who follow events know that there is one.
type news struct {
	mu     sync.Mutex
	coming chan struct{} // closed with the next event
}

// next is closed when something happens from now on.
func (n *news) next() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.coming == nil {
		n.coming = make(chan struct{})
	}
	return n.coming
}

func (n *news) spread() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.coming != nil {
		close(n.coming)
		n.coming = nil
	}
}
