package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/forkbox/forkbox"
)

// AddExec implements [forkbox.Ledger].
func (l *SQLite) AddExec(ctx context.Context, exec forkbox.Exec, tell ...forkbox.Event) (forkbox.Exec, error) {
	record, err := json.Marshal(exec)
	if err != nil {
		return exec, failed("record exec", err)
	}
	id, err := l.addExec(ctx, exec.Box, string(record), tell)
	if resultCode(err) == sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY {
		return exec, noBox("record exec", exec.Box, nil)
	}
	if err != nil {
		return exec, failed("record exec", err)
	}
	exec.ID = strconv.FormatInt(id, 10)
	return exec, nil
}

func (l *SQLite) addExec(ctx context.Context, box, record string, tell []forkbox.Event) (id int64, err error) {
	if len(tell) == 0 {
		defer l.measure(ctx, time.Now())
		err = l.stmts.addExec.QueryRowContext(steady(ctx), box, record).Scan(&id)
		return id, err
	}
	err = l.telling(ctx, tell, func(ctx context.Context, tx *sql.Tx) error {
		if err := tx.StmtContext(ctx, l.stmts.addExec).QueryRowContext(ctx, box, record).Scan(&id); err != nil {
			return err
		}
		for i := range tell {
			tell[i].Exec = strconv.FormatInt(id, 10)
		}
		return nil
	})
	return id, err
}

// UpdateExec implements [forkbox.Ledger].
func (l *SQLite) UpdateExec(ctx context.Context, exec forkbox.Exec, tell ...forkbox.Event) error {
	record, err := json.Marshal(exec)
	if err != nil {
		return failed("record exec", err)
	}
	id, ok := number(exec.ID)
	if !ok {
		return noExec("record exec", exec.Box, exec.ID)
	}
	n, err := l.exec(ctx, l.stmts.updateExec, tell, string(record), exec.Box, id)
	if err != nil {
		return failed("record exec", err)
	}
	if n == 0 {
		return noExec("record exec", exec.Box, exec.ID)
	}
	return nil
}

// Exec implements [forkbox.Ledger].
func (l *SQLite) Exec(ctx context.Context, box, id string) (forkbox.Exec, error) {
	n, ok := number(id)
	if !ok {
		return forkbox.Exec{}, noExec("find exec", box, id)
	}
	exec, err := readExec(l.stmts.exec.QueryRowContext(steady(ctx), box, n))
	if errors.Is(err, sql.ErrNoRows) {
		return forkbox.Exec{}, noExec("find exec", box, id)
	}
	return exec, failed("find exec", err)
}

// Execs implements [forkbox.Ledger].
func (l *SQLite) Execs(ctx context.Context, box string) ([]forkbox.Exec, error) {
	return listExecs(l.stmts.execs.QueryContext(steady(ctx), box))
}

// LastExecs implements [forkbox.Ledger].
func (l *SQLite) LastExecs(ctx context.Context, uid int) (map[string]forkbox.Exec, error) {
	execs, err := listExecs(l.stmts.lastExecs.QueryContext(steady(ctx), uid))
	last := map[string]forkbox.Exec{}
	for _, x := range execs {
		last[x.Box] = x
	}
	return last, err
}

func listExecs(rows *sql.Rows, err error) ([]forkbox.Exec, error) {
	if err != nil {
		return nil, failed("list execs", err)
	}
	defer rows.Close()
	var execs []forkbox.Exec
	for rows.Next() {
		exec, err := readExec(rows)
		if err != nil {
			return nil, failed("list execs", err)
		}
		execs = append(execs, exec)
	}
	return execs, failed("list execs", rows.Err())
}

func readExec(row interface{ Scan(...any) error }) (forkbox.Exec, error) {
	var id int64
	var record []byte
	if err := row.Scan(&id, &record); err != nil {
		return forkbox.Exec{}, err
	}
	var exec forkbox.Exec
	err := json.Unmarshal(record, &exec)
	// The record was written before the id was known.
	exec.ID = strconv.FormatInt(id, 10)
	return exec, err
}

// number accepts an id only as AddExec spelled it: "01" and "+1" are not "1".
func number(id string) (int64, bool) {
	n, err := strconv.ParseInt(id, 10, 64)
	return n, err == nil && strconv.FormatInt(n, 10) == id
}

func noExec(op, box, id string) error {
	return forkbox.Errorf(forkbox.NotFound, op, "box %s has no exec %q", box, id).
		Hint("forkbox show %s lists its execs", box)
}

// failed says what a defect or a failing disk kept from being done.
func failed(op string, err error) error {
	if err == nil {
		return nil
	}
	if known := (*forkbox.Error)(nil); errors.As(err, &known) {
		return err
	}
	e := forkbox.Errorf(forkbox.Internal, op, "the ledger failed: %w", err)
	switch resultCode(err) & 0xff {
	case sqlite3.SQLITE_FULL:
		e.Hint("free some: forkbox gc, or forkbox rm BOX; forkbox du says what takes it").
			Hint("if that fails too, free some space on the disk that the ledger lies on")
	case sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT:
		e.Hint("the ledger is damaged: restore it from a backup")
	case sqlite3.SQLITE_READONLY:
		e.Hint("the ledger must be on a disk that can be written")
	}
	return e
}
