// Package ledger keeps the durable record of boxes, execs, receipts,
// connections and races in SQLite.
//
// Every write is one transaction, most of them one prepared statement: there is
// no moment at which a crash leaves half a record. The suite that this and any
// later ledger passes is in package ledgertest.
package ledger

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"

	"github.com/forkbox/forkbox"
	sqlite3 "modernc.org/sqlite/lib"
)

// SQLite is a [forkbox.Ledger] in one file.
type SQLite struct {
	// One connection writes: SQLite has one writer anyway, and waiting for a
	// Go mutex is cheaper than for a file lock. Others read, so that listing
	// ten thousand boxes does not hold up a box that is being started.
	write, read *sql.DB
	path        string
	stmts       statements
	envs        environments
	pruning     pruning // of connections
	journal
	access
}

var _ forkbox.Ledger = (*SQLite)(nil)

// Open opens the ledger at path, makes it when there is none, and brings an
// older one up to date.
func Open(ctx context.Context, path string) (*SQLite, error) {
	l, err := open(ctx, path)
	for noRoom(err) && takeSpare(path) {
		l, err = open(ctx, path)
	}
	if err != nil {
		return nil, openError(path, err)
	}
	return l, nil
}

func open(ctx context.Context, path string) (*SQLite, error) {
	write, read, err := connect(path)
	if err != nil {
		return nil, err
	}
	l := &SQLite{write: write, read: read, path: path}
	l.journal = journal{write: write, read: read, stmts: &l.stmts, untold: pruning{patient: true}}
	l.access = access{write, read, &l.journal}
	if err := l.ready(ctx); err != nil {
		_ = l.closeAll()
		return nil, err
	}
	return l, nil
}

func (l *SQLite) ready(ctx context.Context) error {
	if err := migrate(ctx, l.write); err != nil {
		return err
	}
	if err := l.stmts.prepare(ctx, l.write, l.read); err != nil {
		return err
	}
	return l.keepReserve(ctx)
}

// Close writes back what is in the log and closes the file.
func (l *SQLite) Close() error {
	err := errors.Join(l.stmts.close(), l.read.Close())
	done := l.writtenBack()
	if err = errors.Join(err, l.write.Close()); err == nil && done {
		err = blank(l.path + "-wal")
	}
	return err
}

func (l *SQLite) closeAll() error {
	return errors.Join(l.stmts.close(), l.read.Close(), l.write.Close())
}

// openError tells a ledger that cannot be used apart from one that is damaged,
// because only the second is helped by moving the file away. Whatever it is,
// nothing of a box is touched.
func openError(path string, err error) error {
	var known *forkbox.Error
	if errors.As(err, &known) {
		return err
	}
	e := forkbox.Errorf(forkbox.Internal, "open ledger", "%s: %w", path, err)
	switch code := resultCode(err) & 0xff; {
	case damaged(err):
		return e.Hint("the file is damaged or is not a ledger: restore it from a backup").
			Hint("or move it aside, and have a new one made of what lies in the store: mv %s %s.damaged; forkbox repair", path, path)
	case code == sqlite3.SQLITE_BUSY || code == sqlite3.SQLITE_LOCKED:
		return e.Hint("another program has it open and locked: end that one, and try again")
	case code == sqlite3.SQLITE_READONLY || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS):
		return e.Hint("it must be on a disk that can be written, and writable by you")
	case noRoom(err) && roomAt(filepath.Dir(path)) < spareSize:
		return e.Hint("the disk is full: free some space on that of %s, and try again", filepath.Dir(path))
	}
	return e.Hint("the directory must exist and be writable by you")
}

// migrations are applied in the order of their numbers and never edited once
// released. The number of the last one is the ledger's version.
//
//go:embed migrations/*.sql
var migrations embed.FS

// migrate brings the schema up to date, in one transaction: a crash or an
// error leaves the version that was there.
func migrate(ctx context.Context, db *sql.DB) error {
	files, err := fs.Glob(migrations, "migrations/*.sql") // sorted by name, so by number
	if err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	// Asked inside the transaction, where no other process can be migrating.
	var version int
	if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	if version > len(files) {
		return newer(version, len(files))
	}
	if version == len(files) {
		return nil
	}
	if err := apply(ctx, tx, files[version:]); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", len(files))); err != nil {
		return err
	}
	return tx.Commit()
}

func apply(ctx context.Context, tx *sql.Tx, files []string) error {
	for _, name := range files {
		script, err := migrations.ReadFile(name)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, string(script)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// newer refuses a ledger that a later forkbox has written: this one would not
// understand, and so would lose, what that one recorded.
func newer(version, known int) error {
	return forkbox.Errorf(forkbox.Unsupported, "open ledger",
		"it has version %d, and this forkbox knows versions up to %d", version, known).
		Hint("use the newer forkbox that wrote it, or another FORKBOX_HOME")
}
