package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/forkbox/forkbox"
)

// AddSnapshot implements [forkbox.Ledger].
func (l *SQLite) AddSnapshot(ctx context.Context, s forkbox.Snapshot, box forkbox.Box, tell ...forkbox.Event) error {
	const op = "record snapshot"
	record, err := json.Marshal(s)
	if err != nil {
		return failed(op, err)
	}
	return l.withBox(ctx, op, box, tell, func(ctx context.Context, tx *sql.Tx) error {
		if box.Saving != "" { // a layer that begins to be here
			if _, err := tx.StmtContext(ctx, l.stmts.knowLayers).ExecContext(ctx, `["`+box.Saving+`"]`); err != nil {
				return failed(op, err)
			}
		}
		_, err := tx.StmtContext(ctx, l.stmts.addSnapshot).ExecContext(ctx,
			s.ID, s.Box, s.Owner.UID, s.Name, s.Auto, s.Created.UnixNano(), string(record))
		return snapshotError(op, s, err)
	})
}

// TakeBack implements [forkbox.Ledger].
func (l *SQLite) TakeBack(ctx context.Context, snapshot string, box forkbox.Box, tell ...forkbox.Event) error {
	const op = "take back snapshot"
	return l.withBox(ctx, op, box, tell, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.StmtContext(ctx, l.stmts.deleteSnapshot).ExecContext(ctx, snapshot)
		return failed(op, err)
	})
}

// withBox replaces the record of a box and does something else, or neither.
func (l *SQLite) withBox(ctx context.Context, op string, box forkbox.Box, tell []forkbox.Event, do func(context.Context, *sql.Tx) error) error {
	record, err := recordOf(box)
	if err != nil {
		return failed(op, err)
	}
	return failed(op, l.telling(ctx, tell, func(ctx context.Context, tx *sql.Tx) error {
		res, err := tx.StmtContext(ctx, l.stmts.updateBox).ExecContext(ctx,
			box.Owner.UID, box.Name, box.State, box.Created.UnixNano(), record, box.ID)
		if err != nil {
			return boxError(op, box, err)
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return noBox(op, box.ID, err)
		}
		return do(ctx, tx)
	}))
}

// UpdateSnapshot implements [forkbox.Ledger].
func (l *SQLite) UpdateSnapshot(ctx context.Context, s forkbox.Snapshot) error {
	const op = "record snapshot"
	record, err := json.Marshal(s)
	if err != nil {
		return failed(op, err)
	}
	res, err := l.stmts.updateSnapshot.ExecContext(steady(ctx), s.Name, string(record), s.ID)
	if err != nil {
		return snapshotError(op, s, err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return notThere(op, "snapshot", s.Name, err)
	}
	return nil
}

// DeleteSnapshot implements [forkbox.Ledger].
func (l *SQLite) DeleteSnapshot(ctx context.Context, id string, tell ...forkbox.Event) error {
	_, err := l.exec(ctx, l.stmts.deleteSnapshot, tell, id)
	return failed("forget snapshot", err)
}

// Snapshot implements [forkbox.Ledger].
func (l *SQLite) Snapshot(ctx context.Context, box, name string) (s forkbox.Snapshot, err error) {
	const op = "find snapshot"
	var record []byte
	if name == "" {
		err = l.stmts.snapshotLast.QueryRowContext(steady(ctx), box).Scan(&record)
	} else {
		err = l.stmts.snapshotNamed.QueryRowContext(steady(ctx), box, name).Scan(&record)
	}
	if errors.Is(err, sql.ErrNoRows) {
		return s, notThere(op, "snapshot", name, nil)
	}
	if err == nil {
		err = json.Unmarshal(record, &s)
	}
	return s, failed(op, err)
}

// SnapshotNames implements [forkbox.Ledger].
func (l *SQLite) SnapshotNames(ctx context.Context, box string) (names []string, err error) {
	const op = "list snapshots"
	rows, err := l.stmts.snapshotNames.QueryContext(steady(ctx), box)
	if err != nil {
		return nil, failed(op, err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, failed(op, err)
		}
		names = append(names, name)
	}
	return names, failed(op, rows.Err())
}

// Snapshots implements [forkbox.Ledger].
func (l *SQLite) Snapshots(ctx context.Context, box string) ([]forkbox.Snapshot, error) {
	return readRecords[forkbox.Snapshot]("list snapshots")(l.stmts.snapshots.QueryContext(steady(ctx), box))
}

// SnapshotsOf implements [forkbox.Ledger].
func (l *SQLite) SnapshotsOf(ctx context.Context, uid *int) ([]forkbox.Snapshot, error) {
	return readRecords[forkbox.Snapshot]("list snapshots")(l.stmts.snapshotsOf.QueryContext(steady(ctx), orEverybody(uid)))
}

// Stacks implements [forkbox.Ledger].
func (l *SQLite) Stacks(ctx context.Context) (all []forkbox.Stack, err error) {
	const op = "list layers"
	rows, err := l.stmts.stacks.QueryContext(steady(ctx))
	if err != nil {
		return nil, failed(op, err)
	}
	defer rows.Close()
	for rows.Next() {
		var record sql.RawBytes
		var box struct {
			Layers   []string
			Services []struct{ Layers []string }
			Saving   string
			Base     struct{ Root string }
		}
		if err := rows.Scan(&record); err != nil {
			return nil, failed(op, err)
		}
		if err := json.Unmarshal(record, &box); err != nil {
			return nil, failed(op, err)
		}
		all = append(all, forkbox.Stack{Layers: box.Layers, Saving: box.Saving, Root: box.Base.Root})
		for _, s := range box.Services {
			all = append(all, forkbox.Stack{Layers: s.Layers})
		}
	}
	return all, failed(op, rows.Err())
}

// everybody stands for all users; it is no user's uid.
const everybody = -1

func orEverybody(uid *int) int {
	if uid == nil {
		return everybody
	}
	return *uid
}

// readRecords reads rows of one column, a record each.
func readRecords[T any](op string) func(*sql.Rows, error) ([]T, error) {
	return func(rows *sql.Rows, err error) ([]T, error) {
		if err != nil {
			return nil, failed(op, err)
		}
		defer rows.Close()
		var list []T
		for rows.Next() {
			var record sql.RawBytes
			var one T
			if err := rows.Scan(&record); err != nil {
				return nil, failed(op, err)
			}
			if err := json.Unmarshal(record, &one); err != nil {
				return nil, failed(op, err)
			}
			list = append(list, one)
		}
		return list, failed(op, rows.Err())
	}
}

func snapshotError(op string, s forkbox.Snapshot, err error) error {
	if resultCode(err) == sqlite3.SQLITE_CONSTRAINT_UNIQUE {
		return forkbox.Errorf(forkbox.Exists, op, "%s has a snapshot %q already", s.BoxName, s.Name).
			Hint("choose another name, or remove that one: forkbox rm %s@%s", s.BoxName, s.Name)
	}
	return failed(op, err)
}

func notThere(op, what, name string, err error) error {
	if err != nil {
		return failed(op, err)
	}
	return forkbox.Errorf(forkbox.NotFound, op, "there is no %s %s", what, name)
}
