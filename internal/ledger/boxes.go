package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	"github.com/forkbox/forkbox"
	sqlite3 "modernc.org/sqlite/lib"
)

// found limits FindBoxes: enough to list the candidates of an ambiguous prefix.
const found = 20

// AddBox implements [forkbox.Ledger].
func (l *SQLite) AddBox(ctx context.Context, box forkbox.Box, tell ...forkbox.Event) error {
	record, err := recordOf(box)
	if err != nil {
		return failed("record box", err)
	}
	env, err := json.Marshal(box.Env)
	if err != nil {
		return failed("record box", err)
	}
	_, err = l.exec(ctx, l.stmts.addBox, tell,
		box.ID, box.Owner.UID, box.Name, box.State, box.Created.UnixNano(), record, string(env))
	return boxError("record box", box, err)
}

// UpdateBox implements [forkbox.Ledger].
func (l *SQLite) UpdateBox(ctx context.Context, box forkbox.Box, tell ...forkbox.Event) error {
	record, err := recordOf(box)
	if err != nil {
		return failed("record box", err)
	}
	n, err := l.exec(ctx, l.stmts.updateBox, tell,
		box.Owner.UID, box.Name, box.State, box.Created.UnixNano(), record, box.ID)
	if err != nil {
		return boxError("record box", box, err)
	}
	if n == 0 {
		return noBox("record box", box.ID, nil)
	}
	return nil
}

// DeleteBox implements [forkbox.Ledger].
func (l *SQLite) DeleteBox(ctx context.Context, id string, tell ...forkbox.Event) error {
	_, err := l.exec(ctx, l.stmts.deleteBox, tell, id)
	return failed("forget box", err)
}

// Box implements [forkbox.Ledger].
func (l *SQLite) Box(ctx context.Context, id string) (forkbox.Box, error) {
	var record, env []byte
	err := l.stmts.box.QueryRowContext(steady(ctx), id).Scan(&record, &env)
	if errors.Is(err, sql.ErrNoRows) {
		return forkbox.Box{}, noBox("find box", id, nil)
	}
	if err != nil {
		return forkbox.Box{}, failed("find box", err)
	}
	box, err := l.boxOf(record, env)
	return box, failed("read box "+id, err)
}

// recordOf is what changes about a box; its environment does not.
func recordOf(box forkbox.Box) (string, error) {
	box.Env, box.Last = nil, nil
	record, err := json.Marshal(box.Stored())
	return string(record), err
}

func (l *SQLite) boxOf(record, env []byte) (forkbox.Box, error) {
	var stored forkbox.StoredBox
	err := json.Unmarshal(record, &stored)
	box := stored.Restored()
	if err == nil {
		box.Env, err = l.envs.read(env)
	}
	return box, err
}

// Boxes implements [forkbox.Ledger].
func (l *SQLite) Boxes(ctx context.Context, uid *int, states ...forkbox.State) ([]forkbox.Box, error) {
	boxes, err := l.list(ctx, uid, states)
	if len(states) == 0 {
		return boxes, err
	}
	return slices.DeleteFunc(boxes, func(b forkbox.Box) bool { return !slices.Contains(states, b.State) }), err
}

// list reads at least the boxes in one of the states.
func (l *SQLite) list(ctx context.Context, uid *int, states []forkbox.State) ([]forkbox.Box, error) {
	switch {
	case uid != nil:
		return l.readBoxes(l.stmts.boxesOf.QueryContext(steady(ctx), *uid))
	case len(states) > 0 && !slices.Contains(states, forkbox.Stopped):
		return l.readBoxes(l.read.QueryContext(steady(ctx), sqlActive))
	default:
		return l.readBoxes(l.stmts.boxes.QueryContext(steady(ctx)))
	}
}

// FindBoxes implements [forkbox.Ledger].
func (l *SQLite) FindBoxes(ctx context.Context, uid int, prefix string) ([]forkbox.Box, error) {
	return l.readBoxes(l.stmts.find.QueryContext(steady(ctx), uid, prefix, prefix+"\U0010FFFF", found))
}

func (l *SQLite) readBoxes(rows *sql.Rows, err error) ([]forkbox.Box, error) {
	if err != nil {
		return nil, failed("list boxes", err)
	}
	defer rows.Close()
	var boxes []forkbox.Box
	for rows.Next() {
		var record, env sql.RawBytes
		if err := rows.Scan(&record, &env); err != nil {
			return nil, failed("list boxes", err)
		}
		box, err := l.boxOf(record, env)
		if err != nil {
			return nil, failed("list boxes", err)
		}
		boxes = append(boxes, box)
	}
	return boxes, failed("list boxes", rows.Err())
}

func boxError(op string, box forkbox.Box, err error) error {
	if resultCode(err) == sqlite3.SQLITE_CONSTRAINT_UNIQUE {
		return forkbox.Errorf(forkbox.Exists, op, "the name %q is taken", box.Name).
			Hint("choose another name, or remove that box: forkbox rm %s", box.Name)
	}
	return failed(op, err)
}

func noBox(op, id string, err error) error {
	if err != nil {
		return failed(op, err)
	}
	return forkbox.Errorf(forkbox.NotFound, op, "there is no box %s", id).
		Hint("forkbox ls shows your boxes")
}

// environments remembers what it has read of late: the boxes that an owner
// works with are mostly of one environment, and it is read with each of them.
type environments struct {
	mu    sync.Mutex
	known map[string]forkbox.Strings
}

// Of larger ones, and of more, it would take too much to remember them.
const (
	knownEnvironments = 16
	largeEnvironment  = 64 << 10
)

// read is the environment that is recorded as text. Its callers share it, and
// changes none of it.
func (e *environments) read(text []byte) (env forkbox.Strings, err error) {
	e.mu.Lock()
	env, known := e.known[string(text)]
	e.mu.Unlock()
	if known {
		return env, nil
	}
	if err := json.Unmarshal(text, &env); err != nil || len(text) > largeEnvironment {
		return env, err
	}
	env = slices.Clip(env) // a caller that appends gets a copy
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.known == nil || len(e.known) >= knownEnvironments {
		e.known = map[string]forkbox.Strings{}
	}
	e.known[string(text)] = env
	return env, nil
}
