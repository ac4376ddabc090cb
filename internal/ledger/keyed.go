package ledger

import (
	"context"
	"database/sql"
	"time"

	"github.com/forkbox/forkbox"
)

const (
	sqlBeginKeyed = `INSERT INTO keyed (id, owner_uid, began, request, after, print, status)
		VALUES (?, ?, ?, ?, (` + sqlLastEvent + `), ?, 0) ON CONFLICT (id) DO NOTHING`
	sqlKeyed       = `SELECT owner_uid, began, request, after, print, status, answer FROM keyed WHERE id = ?`
	sqlEndKeyed    = `UPDATE keyed SET print = ?, status = ?, answer = ? WHERE id = ?`
	sqlForgetKeyed = `DELETE FROM keyed WHERE id = ?`
	sqlPruneKeyed  = `DELETE FROM keyed WHERE began < ?1 OR rowid IN (SELECT rowid FROM (
			SELECT rowid, row_number() OVER latest AS place, sum(coalesce(length(answer), 0)) OVER latest AS size
			FROM keyed WINDOW latest AS (PARTITION BY owner_uid ORDER BY began DESC, rowid DESC))
		WHERE place > ?2 OR size > ?3)`
)

// BeginKeyed implements [forkbox.Ledger].
func (a *access) BeginKeyed(ctx context.Context, k forkbox.Keyed) (*forkbox.Keyed, error) {
	const op = "record a request"
	ctx = steady(ctx)
	tx, err := a.write.BeginTx(ctx, nil)
	if err != nil {
		return nil, failed(op, err)
	}
	defer tx.Rollback()
	res, err := tx.ExecContext(ctx, sqlBeginKeyed, k.ID, k.UID, k.Began.UnixNano(), k.Request, k.Print)
	if err != nil {
		return nil, failed(op, err)
	}
	if n, _ := res.RowsAffected(); n > 0 {
		return nil, failed(op, tx.Commit())
	}
	was, err := readKeyed(k.ID, tx.QueryRowContext(ctx, sqlKeyed, k.ID))
	return was, failed(op, err)
}

func readKeyed(id string, row *sql.Row) (*forkbox.Keyed, error) {
	k, began := forkbox.Keyed{ID: id}, int64(0)
	err := row.Scan(&k.UID, &began, &k.Request, &k.After, &k.Print, &k.Status, &k.Answer)
	k.Began = time.Unix(0, began).UTC()
	return &k, err
}

// EndKeyed implements [forkbox.Ledger].
func (a *access) EndKeyed(ctx context.Context, k forkbox.Keyed) error {
	_, err := a.write.ExecContext(steady(ctx), sqlEndKeyed, k.Print, k.Status, k.Answer, k.ID)
	return failed("record an answer", err)
}

// ForgetKeyed implements [forkbox.Ledger].
func (a *access) ForgetKeyed(ctx context.Context, id string) error {
	_, err := a.write.ExecContext(steady(ctx), sqlForgetKeyed, id)
	return failed("forget a request", err)
}

// PruneKeyed implements [forkbox.Ledger].
func (a *access) PruneKeyed(ctx context.Context, before time.Time, most int, size int64) error {
	_, err := a.write.ExecContext(steady(ctx), sqlPruneKeyed, before.UnixNano(), most, size)
	return failed("forget requests", err)
}
