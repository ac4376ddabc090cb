package ledger

import (
	"context"
	"encoding/json"
)

const (
	sqlKnowLayers   = `INSERT OR IGNORE INTO layers SELECT value FROM json_each(?) WHERE value <> ''`
	sqlKnownLayers  = `SELECT id FROM layers`
	sqlForgetLayers = `DELETE FROM layers WHERE id IN (SELECT value FROM json_each(?))`
)

// KnowLayers implements [forkbox.Ledger].
func (l *SQLite) KnowLayers(ctx context.Context, layers ...string) error {
	list, err := json.Marshal(layers)
	if err == nil {
		_, err = l.stmts.knowLayers.ExecContext(steady(ctx), string(list))
	}
	return failed("record layers", err)
}

// KnownLayers implements [forkbox.Ledger].
func (l *SQLite) KnownLayers(ctx context.Context) (layers []string, err error) {
	const op = "list layers"
	rows, err := l.read.QueryContext(steady(ctx), sqlKnownLayers)
	if err != nil {
		return nil, failed(op, err)
	}
	defer rows.Close()
	for rows.Next() {
		var layer string
		if err := rows.Scan(&layer); err != nil {
			return nil, failed(op, err)
		}
		layers = append(layers, layer)
	}
	return layers, failed(op, rows.Err())
}

// ForgetLayers implements [forkbox.Ledger].
func (l *SQLite) ForgetLayers(ctx context.Context, layers ...string) error {
	list, err := json.Marshal(layers)
	if err == nil {
		_, err = l.write.ExecContext(steady(ctx), sqlForgetLayers, string(list))
	}
	return failed("forget layers", err)
}
