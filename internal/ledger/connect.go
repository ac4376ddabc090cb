package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// patience is how long a lock of another program is waited for.
var patience = 5 * time.Second

// readers is how many reads may go on at once. More would only compete for
// the same pages.
const readers = 4

func connect(path string) (write, read *sql.DB, err error) {
	path, err = filepath.Abs(path)
	if err != nil {
		return nil, nil, err
	}
	for _, file := range []string{path, path + "-wal", path + "-shm"} {
		if err := private(file); err != nil {
			return nil, nil, err
		}
	}
	if write, err = sql.Open("sqlite", source(path, false)); err != nil {
		return nil, nil, err
	}
	if read, err = sql.Open("sqlite", source(path, true)); err != nil {
		write.Close()
		return nil, nil, err
	}
	write.SetMaxOpenConns(1)
	read.SetMaxOpenConns(readers)
	read.SetMaxIdleConns(readers)
	return write, read, nil
}

// private makes a file of the ledger before SQLite does: it holds environment
// variables, and is to be written in place.
func private(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	writeInPlace(f)
	return errors.Join(f.Chmod(0o600), f.Close())
}

// source is the data source name. With WAL, synchronous=NORMAL loses nothing
// when the daemon is killed, and at most the last moments when the power
// fails; FULL would cost a disk flush for every step of a box's life.
func source(path string, readOnly bool) string {
	q := url.Values{"_pragma": {
		fmt.Sprintf("busy_timeout(%d)", patience.Milliseconds()),
		"journal_mode(WAL)",
		"synchronous(NORMAL)",
		"foreign_keys(1)",
	}}
	if readOnly {
		q.Add("_pragma", "query_only(1)")
	} else {
		q.Set("_txlock", "immediate")
	}
	u := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path), RawQuery: q.Encode()}
	return u.String()
}

// steady is the context of a statement: one that has begun is finished, since
// a caller who gave up must not leave the ledger in doubt. (It also saves the
// driver a goroutine per statement, which costs more than the statement.)
func steady(ctx context.Context) context.Context { return context.WithoutCancel(ctx) }

func damaged(err error) bool {
	switch resultCode(err) & 0xff {
	case sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT:
		return true
	}
	return false
}

// noRoom says whether an error can come of a full disk: where SQLite needs a
// file to open another one it does not say so plainly.
func noRoom(err error) bool {
	switch resultCode(err) & 0xff {
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN:
		return true
	}
	return errors.Is(err, syscall.ENOSPC)
}

// resultCode is SQLite's extended result code, 0 when err has none.
func resultCode(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code()
	}
	return sqlite3.SQLITE_OK
}
