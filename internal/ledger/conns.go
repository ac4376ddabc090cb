package ledger

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/forkbox/forkbox"
)

// SaveConns implements [forkbox.Ledger].
func (l *SQLite) SaveConns(ctx context.Context, conns []forkbox.Conn) error {
	const op = "record connections"
	if len(conns) == 0 {
		return nil
	}
	ctx = steady(ctx)
	tx, err := l.write.BeginTx(ctx, nil)
	if err != nil {
		return failed(op, err)
	}
	defer tx.Rollback()
	save := tx.StmtContext(ctx, l.stmts.saveConn)
	for _, c := range conns {
		if err := saveConn(ctx, save, c); err != nil {
			return failed(op, err)
		}
	}
	if err := l.pruneConns(ctx, tx, conns); err != nil {
		return failed(op, err)
	}
	return failed(op, tx.Commit())
}

func saveConn(ctx context.Context, save *sql.Stmt, c forkbox.Conn) error {
	record, err := json.Marshal(c)
	if err != nil {
		return err
	}
	_, err = save.ExecContext(ctx, c.ID, c.UID, c.Box, c.State, c.Time.UnixNano(), string(record))
	return err
}

// Conns implements [forkbox.Ledger]. A limit of zero is none.
func (l *SQLite) Conns(ctx context.Context, uid *int, box string, after int64, limit int) ([]forkbox.Conn, error) {
	read := readRecords[forkbox.Conn]("list connections")
	if limit <= 0 {
		limit = -1
	}
	switch {
	case box != "":
		return read(l.stmts.connsOfBox.QueryContext(steady(ctx), after, limit, box, orEverybody(uid)))
	case uid != nil:
		return read(l.stmts.connsOfOwner.QueryContext(steady(ctx), after, limit, *uid))
	}
	return read(l.stmts.conns.QueryContext(steady(ctx), after, limit))
}

// LoseConns implements [forkbox.Ledger].
func (l *SQLite) LoseConns(ctx context.Context) error {
	_, err := l.stmts.loseConns.ExecContext(steady(ctx))
	return failed("record lost connections", err)
}
