package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"sync"
	"time"

	"github.com/forkbox/forkbox"
)

// SaveConns implements [forkbox.Ledger].
func (l *SQLite) SaveConns(ctx context.Context, conns []forkbox.Conn) error {
	const op = "record connections"
	if len(conns) == 0 {
		return nil
	}
	return failed(op, l.telling(ctx, nil, func(ctx context.Context, tx *sql.Tx) error {
		save := tx.StmtContext(ctx, l.stmts.saveConn)
		for _, c := range conns {
			if err := saveConn(ctx, save, c); err != nil {
				return err
			}
		}
		return l.pruneConns(ctx, tx, conns)
	}))
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

// What is kept of connections: of each box, of all boxes of one owner, and for
// how long. A box that knocks at doors all day must not fill the disk, neither
// must thousands of boxes that lived for a minute each, and no owner's may push
// out another's.
const (
	connsOfABox    = 10_000
	connsOfAnOwner = 200_000
	connAge        = 30 * 24 * time.Hour
)

// Looking for what is too much costs more than a record, so that it is done
// now and then: when a box or an owner has so many new ones, and once in a while.
const (
	pruneBoxAfter   = 1_000
	pruneOwnerAfter = 10_000
	pruneAllAfter   = time.Hour
)

// pruning is when what was last looked at.
type pruning struct {
	mu      sync.Mutex
	patient bool // a box that is new here is not looked at before it has many
	boxes   counter[string]
	owners  counter[int]
	all     time.Time
}

// counter counts what is new since the last look; who is not in it was not
// looked at.
type counter[K comparable] map[K]int

func (c counter[K]) due(who K, after int, patient bool) bool {
	n, known := c[who]
	if c[who] = n + 1; (known || patient) && n+1 < after {
		return false
	}
	c[who] = 0
	return true
}

// excess is what is to be looked at.
type excess struct {
	boxes  []string
	owners []int
	old    bool
}

// due counts what is being written, n rows of a box and an owner each. That may
// still fail: then there is one look too many, or too few until the next.
func (p *pruning) due(n int, of func(i int) (box string, uid int), now time.Time) (look excess) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if look.old = p.boxes == nil || now.Sub(p.all) >= pruneAllAfter; look.old {
		p.boxes, p.owners, p.all = counter[string]{}, counter[int]{}, now // those that are gone are forgotten
	}
	for i := range n {
		box, uid := of(i)
		if box != "" && p.boxes.due(box, pruneBoxAfter, p.patient) {
			look.boxes = append(look.boxes, box)
		}
		if p.owners.due(uid, pruneOwnerAfter, false) {
			look.owners = append(look.owners, uid)
		}
	}
	return look
}

// pruneConns deletes, in one step with what is added, what is too much. The
// latest of all stays however old it is: ids go on from there.
func (l *SQLite) pruneConns(ctx context.Context, tx *sql.Tx, added []forkbox.Conn) error {
	now := time.Now()
	look := l.pruning.due(len(added), func(i int) (string, int) { return added[i].Box, added[i].UID }, now)
	for _, box := range look.boxes {
		if _, err := tx.StmtContext(ctx, l.stmts.pruneBox).ExecContext(ctx, box, connsOfABox); err != nil {
			return err
		}
	}
	for _, uid := range look.owners {
		if _, err := tx.StmtContext(ctx, l.stmts.pruneOwner).ExecContext(ctx, uid, connsOfAnOwner); err != nil {
			return err
		}
	}
	if !look.old {
		return nil
	}
	_, err := tx.StmtContext(ctx, l.stmts.pruneConns).ExecContext(ctx, now.Add(-connAge).UnixNano())
	return err
}
