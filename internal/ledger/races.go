package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/forkbox/forkbox"
)

// AddRace implements [forkbox.Ledger].
func (l *SQLite) AddRace(ctx context.Context, r forkbox.Race, tell ...forkbox.Event) error {
	const op = "record race"
	return l.writeRace(ctx, op, r, tell, func(ctx context.Context, tx *sql.Tx, record string) error {
		_, err := tx.StmtContext(ctx, l.stmts.races.add).ExecContext(ctx,
			r.ID, r.Owner.UID, r.Name, r.State, r.Created.UnixNano(), record)
		return raceError(op, r, err)
	})
}

// UpdateRace implements [forkbox.Ledger].
func (l *SQLite) UpdateRace(ctx context.Context, r forkbox.Race, tell ...forkbox.Event) error {
	const op = "record race"
	return l.writeRace(ctx, op, r, tell, func(ctx context.Context, tx *sql.Tx, record string) error {
		res, err := tx.StmtContext(ctx, l.stmts.races.update).ExecContext(ctx, r.Name, r.State, record, r.ID)
		if err != nil {
			return raceError(op, r, err)
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return noRace(op, r.ID, err)
		}
		_, err = tx.StmtContext(ctx, l.stmts.races.dropEntries).ExecContext(ctx, r.ID)
		return failed(op, err)
	})
}

// writeRace writes the record of a race, and then all its entries.
func (l *SQLite) writeRace(ctx context.Context, op string, r forkbox.Race, tell []forkbox.Event, write func(context.Context, *sql.Tx, string) error) error {
	entries, err := json.Marshal(r.Entries)
	if err != nil {
		return failed(op, err)
	}
	r.Entries = nil
	record, err := json.Marshal(r)
	if err != nil {
		return failed(op, err)
	}
	return failed(op, l.telling(ctx, tell, func(ctx context.Context, tx *sql.Tx) error {
		if err := write(ctx, tx, string(record)); err != nil {
			return err
		}
		_, err := tx.StmtContext(ctx, l.stmts.races.addEntries).ExecContext(ctx, r.ID, string(entries))
		return failed(op, err)
	}))
}

// SaveEntries implements [forkbox.Ledger].
func (l *SQLite) SaveEntries(ctx context.Context, race string, entries []forkbox.Entry, tell ...forkbox.Event) error {
	const op = "record what approaches do"
	return failed(op, l.telling(ctx, tell, func(ctx context.Context, tx *sql.Tx) error {
		save := tx.StmtContext(ctx, l.stmts.races.saveEntry)
		for _, e := range entries {
			record, err := json.Marshal(e)
			if err != nil {
				return failed(op, err)
			}
			res, err := save.ExecContext(ctx, string(record), race, e.Name)
			if err != nil {
				return failed(op, err)
			}
			if n, err := res.RowsAffected(); err != nil || n == 0 {
				return notThere(op, "approach", e.Name+" in race "+race, err)
			}
		}
		return nil
	}))
}

// DeleteRace implements [forkbox.Ledger].
func (l *SQLite) DeleteRace(ctx context.Context, id string, tell ...forkbox.Event) error {
	_, err := l.exec(ctx, l.stmts.races.delete, tell, id)
	return failed("forget race", err)
}

// FindRaces implements [forkbox.Ledger].
func (l *SQLite) FindRaces(ctx context.Context, uid int, prefix string) ([]forkbox.Race, error) {
	return readRaces(l.stmts.races.find.QueryContext(steady(ctx), uid, prefix, prefix+"\U0010FFFF", found))
}

// Races implements [forkbox.Ledger].
func (l *SQLite) Races(ctx context.Context, uid *int, states ...forkbox.RaceState) ([]forkbox.Race, error) {
	races, err := l.races(ctx, uid, states)
	if len(states) == 0 {
		return races, err
	}
	return slices.DeleteFunc(races, func(r forkbox.Race) bool { return !slices.Contains(states, r.State) }), err
}

// races reads at least those in one of the states.
func (l *SQLite) races(ctx context.Context, uid *int, states []forkbox.RaceState) ([]forkbox.Race, error) {
	switch {
	case uid != nil:
		return readRaces(l.stmts.races.ofOwner.QueryContext(steady(ctx), *uid))
	case len(states) == 1 && states[0] == forkbox.RaceRunning:
		return readRaces(l.read.QueryContext(steady(ctx), sqlRacesRunning))
	}
	return readRaces(l.read.QueryContext(steady(ctx), sqlRaces))
}

func readRaces(rows *sql.Rows, err error) ([]forkbox.Race, error) {
	const op = "list races"
	if err != nil {
		return nil, failed(op, err)
	}
	defer rows.Close()
	var list []forkbox.Race
	for rows.Next() {
		var record, entries sql.RawBytes
		if err := rows.Scan(&record, &entries); err != nil {
			return nil, failed(op, err)
		}
		race, err := raceOf(record, entries)
		if err != nil {
			return nil, failed(op, err)
		}
		list = append(list, race)
	}
	return list, failed(op, rows.Err())
}

func raceOf(record, entries []byte) (r forkbox.Race, err error) {
	if err = json.Unmarshal(record, &r); err == nil && len(entries) > 0 {
		err = json.Unmarshal(entries, &r.Entries)
	}
	return r, err
}

func raceError(op string, r forkbox.Race, err error) error {
	if resultCode(err) == sqlite3.SQLITE_CONSTRAINT_UNIQUE {
		return forkbox.Errorf(forkbox.Exists, op, "there is a race %q already", r.Name).
			Hint("choose another name, or remove that one: forkbox race rm %s", r.Name)
	}
	return failed(op, err)
}

func noRace(op, id string, err error) error {
	if err != nil {
		return failed(op, err)
	}
	return forkbox.Errorf(forkbox.NotFound, op, "there is no race %s", id).
		Hint("forkbox race ls shows your races")
}
