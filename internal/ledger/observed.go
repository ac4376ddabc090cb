package ledger

import (
	"context"
	"fmt"

	"github.com/forkbox/forkbox"
)

const sqlCountBoxes = `SELECT state, count(*) FROM boxes GROUP BY state`

// CountBoxes implements [forkbox.Ledger].
func (l *journal) CountBoxes(ctx context.Context) (map[forkbox.State]int, error) {
	const op = "count boxes"
	rows, err := l.read.QueryContext(steady(ctx), sqlCountBoxes)
	if err != nil {
		return nil, failed(op, err)
	}
	defer rows.Close()
	counts := map[forkbox.State]int{}
	for rows.Next() {
		var state forkbox.State
		var n int
		if err := rows.Scan(&state, &n); err != nil {
			return nil, failed(op, err)
		}
		counts[state] = n
	}
	return counts, failed(op, rows.Err())
}

// Check implements [forkbox.Ledger]: it sets the version to what it is.
func (l *journal) Check(ctx context.Context) error {
	const op = "write to the ledger"
	var version int
	err := l.write.QueryRowContext(steady(ctx), "PRAGMA user_version").Scan(&version)
	if err == nil {
		_, err = l.write.ExecContext(steady(ctx), fmt.Sprintf("PRAGMA user_version = %d", version))
	}
	return failed(op, err)
}
