package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/forkbox/forkbox"
)

// AddReceipt implements [forkbox.Ledger].
func (l *SQLite) AddReceipt(ctx context.Context, r forkbox.Receipt, tell ...forkbox.Event) error {
	record, err := json.Marshal(r)
	if err != nil {
		return failed("record receipt", err)
	}
	_, err = l.exec(ctx, l.stmts.addReceipt, tell,
		r.ID, r.Owner.UID, r.Box, r.State, r.Created.UnixNano(), string(record))
	if resultCode(err) == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY {
		return forkbox.Errorf(forkbox.Exists, "record receipt", "there is a receipt %s already", r.ID)
	}
	return failed("record receipt", err)
}

// UpdateReceipt implements [forkbox.Ledger].
func (l *SQLite) UpdateReceipt(ctx context.Context, r forkbox.Receipt, tell ...forkbox.Event) error {
	record, err := json.Marshal(r)
	if err != nil {
		return failed("record receipt", err)
	}
	n, err := l.exec(ctx, l.stmts.updateReceipt, tell, r.State, string(record), r.ID)
	if err != nil {
		return failed("record receipt", err)
	}
	if n == 0 {
		return noReceipt("record receipt", r.ID, nil)
	}
	return nil
}

// DeleteReceipt implements [forkbox.Ledger].
func (l *SQLite) DeleteReceipt(ctx context.Context, id string, tell ...forkbox.Event) error {
	_, err := l.exec(ctx, l.stmts.deleteReceipt, tell, id)
	return failed("forget receipt", err)
}

// Receipt implements [forkbox.Ledger].
func (l *SQLite) Receipt(ctx context.Context, id string) (r forkbox.Receipt, err error) {
	var record []byte
	err = l.stmts.receipt.QueryRowContext(steady(ctx), id).Scan(&record)
	if errors.Is(err, sql.ErrNoRows) {
		return r, noReceipt("find receipt", id, nil)
	}
	if err == nil {
		err = json.Unmarshal(record, &r)
	}
	return r, failed("find receipt", err)
}

// Receipts implements [forkbox.Ledger].
func (l *SQLite) Receipts(ctx context.Context, uid *int, states ...forkbox.ReceiptState) ([]forkbox.Receipt, error) {
	list, err := l.receipts(ctx, uid, states)
	if len(states) == 0 {
		return list, err
	}
	return slices.DeleteFunc(list, func(r forkbox.Receipt) bool { return !slices.Contains(states, r.State) }), err
}

func (l *SQLite) receipts(ctx context.Context, uid *int, states []forkbox.ReceiptState) ([]forkbox.Receipt, error) {
	switch {
	case uid != nil:
		return readReceipts(l.stmts.receiptsOfOwner.QueryContext(steady(ctx), *uid))
	case len(states) == 1 && states[0] == forkbox.Landing:
		return readReceipts(l.read.QueryContext(steady(ctx), sqlLanding))
	}
	return readReceipts(l.read.QueryContext(steady(ctx), sqlReceipts))
}

// ReceiptsOf implements [forkbox.Ledger].
func (l *SQLite) ReceiptsOf(ctx context.Context, box string) ([]forkbox.Receipt, error) {
	return readReceipts(l.stmts.receiptsOfBox.QueryContext(steady(ctx), box))
}

func readReceipts(rows *sql.Rows, err error) ([]forkbox.Receipt, error) {
	return readRecords[forkbox.Receipt]("list receipts")(rows, err)
}

func noReceipt(op, id string, err error) error {
	if err != nil {
		return failed(op, err)
	}
	return forkbox.Errorf(forkbox.NotFound, op, "there is no receipt %s", id).
		Hint("forkbox receipts lists them")
}
