package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/forkbox/forkbox"
)

// AddTemplate implements [forkbox.Ledger].
func (l *SQLite) AddTemplate(ctx context.Context, t forkbox.Template, tell ...forkbox.Event) error {
	const op = "record template"
	record, err := json.Marshal(t)
	if err != nil {
		return failed(op, err)
	}
	_, err = l.exec(ctx, l.stmts.addTemplate, tell, t.ID, t.Owner.UID, t.Name, t.Created.UnixNano(), string(record))
	return templateError(op, t, err)
}

// UpdateTemplate implements [forkbox.Ledger].
func (l *SQLite) UpdateTemplate(ctx context.Context, t forkbox.Template, tell ...forkbox.Event) error {
	const op = "record template"
	record, err := json.Marshal(t)
	if err != nil {
		return failed(op, err)
	}
	n, err := l.exec(ctx, l.stmts.updateTemplate, tell, t.Name, string(record), t.ID)
	if err != nil {
		return templateError(op, t, err)
	}
	if n == 0 {
		return noTemplate(op, t.Name, nil)
	}
	return nil
}

// DeleteTemplate implements [forkbox.Ledger].
func (l *SQLite) DeleteTemplate(ctx context.Context, id string, tell ...forkbox.Event) error {
	_, err := l.exec(ctx, l.stmts.deleteTemplate, tell, id)
	return failed("forget template", err)
}

// Template implements [forkbox.Ledger].
func (l *SQLite) Template(ctx context.Context, uid int, name string) (t forkbox.Template, err error) {
	var record []byte
	err = l.stmts.template.QueryRowContext(steady(ctx), uid, name).Scan(&record)
	if errors.Is(err, sql.ErrNoRows) {
		return t, noTemplate("find template", name, nil)
	}
	if err == nil {
		err = json.Unmarshal(record, &t)
	}
	return t, failed("find template", err)
}

// Templates implements [forkbox.Ledger].
func (l *SQLite) Templates(ctx context.Context, uid *int) ([]forkbox.Template, error) {
	return readRecords[forkbox.Template]("list templates")(l.stmts.templates.QueryContext(steady(ctx), orEverybody(uid)))
}

func templateError(op string, t forkbox.Template, err error) error {
	if resultCode(err) == sqlite3.SQLITE_CONSTRAINT_UNIQUE {
		return forkbox.Errorf(forkbox.Exists, op, "there is a template %q already", t.Name).
			Hint("choose another name, or remove that one: forkbox template rm %s", t.Name)
	}
	return failed(op, err)
}

func noTemplate(op, name string, err error) error {
	if err != nil {
		return failed(op, err)
	}
	return forkbox.Errorf(forkbox.NotFound, op, "you have no template %q", name).
		Hint("forkbox template ls shows your templates")
}
