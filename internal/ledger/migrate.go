package ledger

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"

	"github.com/forkbox/forkbox"
)

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
