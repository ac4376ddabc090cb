package ledger

import (
	"context"
	"encoding/json"

	"github.com/forkbox/forkbox"
)

const (
	sqlSaveStill = `INSERT INTO stills (id, owner_uid, taken, record) VALUES (?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET record = excluded.record`
	sqlDeleteStill = `DELETE FROM stills WHERE id = ?`
	sqlStills      = `SELECT record FROM stills WHERE ?1 = -1 OR owner_uid = ?1 ORDER BY taken, rowid`
)

// SaveStill implements [forkbox.Ledger].
func (a *access) SaveStill(ctx context.Context, s forkbox.Still) error {
	record, err := json.Marshal(s)
	if err == nil {
		_, err = a.write.ExecContext(steady(ctx), sqlSaveStill, s.ID, s.UID, s.Taken.UnixNano(), string(record))
	}
	return failed("record a still", err)
}

// DeleteStill implements [forkbox.Ledger].
func (a *access) DeleteStill(ctx context.Context, id string) error {
	_, err := a.write.ExecContext(steady(ctx), sqlDeleteStill, id)
	return failed("forget a still", err)
}

// Stills implements [forkbox.Ledger].
func (a *access) Stills(ctx context.Context, uid *int) ([]forkbox.Still, error) {
	return readRecords[forkbox.Still]("list stills")(a.read.QueryContext(steady(ctx), sqlStills, orEverybody(uid)))
}
