package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"math"
	"time"

	"github.com/forkbox/forkbox"
)

// access is the part of a ledger about who may do what, and who did. None of it is
// asked so often that a prepared statement would pay for its part of the
// daemon's start.
type access struct {
	write, read *sql.DB
	journal     *journal
}

const (
	sqlAddToken    = `INSERT INTO tokens (id, created, hash, record) VALUES (?, ?, ?, ?)`
	sqlUpdateToken = `UPDATE tokens SET record = ? WHERE id = ?`
	sqlDeleteToken = `DELETE FROM tokens WHERE id = ?`
	sqlTokens      = `SELECT hash, record FROM tokens ORDER BY created, rowid`

	sqlSaveCall = `INSERT INTO calls (id, owner_uid, time, record) VALUES (?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET record = excluded.record`
	sqlLastCall = `SELECT coalesce(max(id), 0) FROM calls`
	sqlCallers  = `SELECT DISTINCT owner_uid FROM calls`
	// The latest so many, and those oldest first. Targets are a list in JSON.
	sqlCalls = `SELECT record FROM (SELECT id, record FROM calls
		WHERE (?1 IS NULL OR owner_uid = ?1) AND time >= ?2 AND id > ?3
		AND (?4 = '' OR record ->> 'user' = ?4 OR record ->> 'via' = ?4 OR record ->> 'label' = ?4 OR owner_uid = CAST(?4 AS INTEGER) AND ?4 = CAST(owner_uid AS TEXT))
		AND (?5 = '[]' OR EXISTS (SELECT 1 FROM json_each(?5) j WHERE record ->> 'target' = j.value
			OR record ->> 'box' = j.value OR substr(record ->> 'target', 1, length(j.value) + 1) = j.value || '@'))
		ORDER BY id DESC LIMIT ?6) ORDER BY id`
	sqlPruneOld  = `DELETE FROM calls WHERE time < ?1 AND id < (SELECT max(id) FROM calls)`
	sqlPruneMany = `DELETE FROM calls WHERE owner_uid = ?1 AND id <=
		(SELECT id FROM calls WHERE owner_uid = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)`
)

// AddToken implements [forkbox.Ledger].
func (a *access) AddToken(ctx context.Context, t forkbox.Token, tell ...forkbox.Event) error {
	return a.together(ctx, "record token", 1, tell, sqlAddToken, func(ctx context.Context, add *sql.Stmt, _ int) error {
		record, err := json.Marshal(t)
		if err == nil {
			_, err = add.ExecContext(ctx, t.ID, t.Created.UnixNano(), t.Hash, string(record))
		}
		return err
	})
}

// UpdateTokens implements [forkbox.Ledger].
func (a *access) UpdateTokens(ctx context.Context, tokens []forkbox.Token, tell ...forkbox.Event) error {
	return a.together(ctx, "record tokens", len(tokens), tell, sqlUpdateToken, func(ctx context.Context, update *sql.Stmt, i int) error {
		record, err := json.Marshal(tokens[i])
		if err == nil {
			_, err = update.ExecContext(ctx, string(record), tokens[i].ID)
		}
		return err
	})
}

// DeleteToken implements [forkbox.Ledger].
func (a *access) DeleteToken(ctx context.Context, id string) error {
	_, err := a.write.ExecContext(steady(ctx), sqlDeleteToken, id)
	return failed("forget token", err)
}

// Tokens implements [forkbox.Ledger].
func (a *access) Tokens(ctx context.Context) (list []forkbox.Token, err error) {
	const op = "list tokens"
	rows, err := a.read.QueryContext(steady(ctx), sqlTokens)
	if err != nil {
		return nil, failed(op, err)
	}
	defer rows.Close()
	for rows.Next() {
		var t forkbox.Token
		var hash, record []byte
		if err = rows.Scan(&hash, &record); err == nil {
			err = json.Unmarshal(record, &t)
		}
		if err != nil {
			return nil, failed(op, err)
		}
		t.Hash = hash
		list = append(list, t)
	}
	return list, failed(op, rows.Err())
}

// SaveCalls implements [forkbox.Ledger].
func (a *access) SaveCalls(ctx context.Context, calls []forkbox.Call) error {
	return a.together(ctx, "write the audit trail", len(calls), nil, sqlSaveCall, func(ctx context.Context, save *sql.Stmt, i int) error {
		c := calls[i]
		record, err := json.Marshal(c)
		if err == nil {
			_, err = save.ExecContext(ctx, c.ID, c.UID, c.Time.UnixNano(), string(record))
		}
		return err
	})
}

// Calls implements [forkbox.Ledger]. A limit of zero is none.
func (a *access) Calls(ctx context.Context, f forkbox.CallFilter) ([]forkbox.Call, error) {
	const op = "read the audit trail"
	targets, err := json.Marshal(append([]string{}, f.Targets...))
	if err != nil {
		return nil, failed(op, err)
	}
	if f.Limit <= 0 {
		f.Limit = -1
	}
	since := int64(math.MinInt64)
	if !f.Since.IsZero() {
		since = f.Since.UnixNano()
	}
	return readRecords[forkbox.Call](op)(a.read.QueryContext(steady(ctx), sqlCalls, f.UID, since, f.After, f.Who, string(targets), f.Limit))
}

// LastCall implements [forkbox.Ledger].
func (a *access) LastCall(ctx context.Context) (id int64, err error) {
	err = a.read.QueryRowContext(steady(ctx), sqlLastCall).Scan(&id)
	return id, failed("read the audit trail", err)
}

// PruneCalls implements [forkbox.Ledger]. The latest of all stays however old it
// is: ids go on from there.
func (a *access) PruneCalls(ctx context.Context, before time.Time, most int) (int64, error) {
	const op = "prune the audit trail"
	res, err := a.write.ExecContext(steady(ctx), sqlPruneOld, before.UnixNano())
	if err != nil {
		return 0, failed(op, err)
	}
	gone, _ := res.RowsAffected()
	uids, err := a.callerUIDs(ctx)
	for _, uid := range uids {
		res, prune := a.write.ExecContext(steady(ctx), sqlPruneMany, uid, most)
		if prune == nil {
			n, _ := res.RowsAffected()
			gone += n
		}
		err = errors.Join(err, prune)
	}
	return gone, failed(op, err)
}

func (a *access) callerUIDs(ctx context.Context) (uids []int, err error) {
	rows, err := a.read.QueryContext(steady(ctx), sqlCallers)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var uid int
		if err := rows.Scan(&uid); err != nil {
			return nil, err
		}
		uids = append(uids, uid)
	}
	return uids, rows.Err()
}

// together runs a statement n times and records the events that it is, in one
// transaction.
func (a *access) together(ctx context.Context, op string, n int, tell []forkbox.Event, statement string,
	each func(ctx context.Context, stmt *sql.Stmt, i int) error) error {
	if n == 0 {
		return nil
	}
	return failed(op, a.journal.telling(ctx, tell, func(ctx context.Context, tx *sql.Tx) error {
		prepared, err := tx.PrepareContext(ctx, statement)
		if err != nil {
			return err
		}
		defer prepared.Close()
		for i := range n {
			if err := each(ctx, prepared, i); err != nil {
				return err
			}
		}
		return nil
	}))
}
