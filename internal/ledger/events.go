package ledger

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/forkbox/forkbox"
)

// AddEvent implements [forkbox.Ledger]. Only the last ten thousand are kept.
func (l *SQLite) AddEvent(ctx context.Context, e forkbox.Event) (forkbox.Event, error) {
	const op = "record event"
	record, err := json.Marshal(e)
	if err != nil {
		return e, failed(op, err)
	}
	err = l.stmts.addEvent.QueryRowContext(steady(ctx), e.UID, e.Box, string(record)).Scan(&e.ID)
	return e, failed(op, err)
}

// Events implements [forkbox.Ledger]. A limit of zero is none.
func (l *SQLite) Events(ctx context.Context, uid *int, box string, after int64, limit int) ([]forkbox.Event, error) {
	if limit <= 0 {
		limit = -1
	}
	switch {
	case box != "":
		return readEvents(l.stmts.eventsOfBox.QueryContext(steady(ctx), after, limit, box, orEverybody(uid)))
	case uid != nil:
		return readEvents(l.stmts.eventsOfOwner.QueryContext(steady(ctx), after, limit, *uid))
	}
	return readEvents(l.stmts.events.QueryContext(steady(ctx), after, limit))
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
	var record []byte
	if err = rows.Scan(&id, &record); err == nil {
		err = json.Unmarshal(record, &e)
	}
	e.ID = id
	return e, err
}
