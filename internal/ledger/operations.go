package ledger

import (
	"context"
	"encoding/json"
	"time"

	"github.com/forkbox/forkbox"
)

const (
	sqlSaveOperation = `INSERT INTO operations (id, owner_uid, began, ended, record)
		VALUES (?1, ?2, ?3, ?4, CASE ?4 WHEN 0 THEN json_set(?5, '$.after', (` + sqlLastEvent + `)) ELSE ?5 END)
		ON CONFLICT (id) DO UPDATE SET ended = excluded.ended, record = excluded.record`
	sqlOperations      = `SELECT record FROM operations WHERE owner_uid = ? ORDER BY began, rowid`
	sqlPruneOperations = `DELETE FROM operations WHERE ended <> 0 AND ended < ?1 OR rowid IN (SELECT rowid FROM (
			SELECT rowid, row_number() OVER (PARTITION BY owner_uid ORDER BY began DESC, rowid DESC) AS place FROM operations)
		WHERE place > ?2)`
)

// SaveOperation implements [forkbox.Ledger].
func (a *access) SaveOperation(ctx context.Context, op forkbox.Operation) error {
	var ended int64
	if op.Ended != nil {
		ended = op.Ended.UnixNano()
	}
	record, err := json.Marshal(op)
	if err == nil {
		_, err = a.write.ExecContext(steady(ctx), sqlSaveOperation, op.ID, op.UID, op.Began.UnixNano(), ended, string(record))
	}
	return failed("record an operation", err)
}

// Operations implements [forkbox.Ledger].
func (a *access) Operations(ctx context.Context, uid int) ([]forkbox.Operation, error) {
	return readRecords[forkbox.Operation]("list operations")(a.read.QueryContext(steady(ctx), sqlOperations, uid))
}

// PruneOperations implements [forkbox.Ledger].
func (a *access) PruneOperations(ctx context.Context, before time.Time, most int) error {
	_, err := a.write.ExecContext(steady(ctx), sqlPruneOperations, before.UnixNano(), most)
	return failed("forget operations", err)
}
