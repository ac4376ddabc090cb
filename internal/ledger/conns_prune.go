package ledger

import (
	"context"
	"database/sql"
	"sync"
	"time"

	"github.com/forkbox/forkbox"
)

// What is kept of connections: of each box, of all together, and for how long.
// A box that knocks at doors all day must not fill the disk, and neither must
// ten thousand boxes that lived for a minute each.
const (
	connsOfABox = 10_000
	connsInAll  = 1_000_000
	connAge     = 30 * 24 * time.Hour
)

// Looking for what is too much costs more than a record, so that it is done
// now and then: when a box has so many new ones, and once in a while.
const (
	pruneBoxAfter = 1_000
	pruneAllAfter = time.Hour
)

// pruning is when what was last looked at.
type pruning struct {
	mu    sync.Mutex
	boxes map[string]int // new ones since its last look; a box without was not looked at
	all   time.Time
}

// due counts what is being written and says what is to be looked at. What is
// written may still fail: then there is one look too many, or too few until
// the next.
func (p *pruning) due(conns []forkbox.Conn, now time.Time) (boxes []string, all bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if all = p.boxes == nil || now.Sub(p.all) >= pruneAllAfter; all {
		p.boxes, p.all = map[string]int{}, now // boxes that are gone are forgotten
	}
	for _, c := range conns {
		n, known := p.boxes[c.Box]
		if p.boxes[c.Box] = n + 1; !known || n+1 >= pruneBoxAfter {
			p.boxes[c.Box] = 0
			boxes = append(boxes, c.Box)
		}
	}
	return boxes, all
}

// pruneConns deletes, in one step with what is added, what is too much. The
// latest of all stays however old it is: ids go on from there.
func (l *SQLite) pruneConns(ctx context.Context, tx *sql.Tx, added []forkbox.Conn) error {
	now := time.Now()
	boxes, all := l.pruning.due(added, now)
	for _, box := range boxes {
		if _, err := tx.StmtContext(ctx, l.stmts.pruneBox).ExecContext(ctx, box, connsOfABox); err != nil {
			return err
		}
	}
	if !all {
		return nil
	}
	_, err := tx.StmtContext(ctx, l.stmts.pruneConns).ExecContext(ctx, now.Add(-connAge).UnixNano(), connsInAll)
	return err
}
