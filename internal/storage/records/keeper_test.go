package records

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/ledger"
	"github.com/forkbox/forkbox/internal/ledger/ledgertest"
)

func keep(t *testing.T) *Keeper {
	t.Helper()
	dir := t.TempDir()
	l, err := ledger.Open(context.Background(), filepath.Join(dir, "ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	k, err := Keep(l, filepath.Join(dir, "records"), func(string) bool { return true }, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { k.End(); l.Close() })
	return k
}

// TestLedgerWithRecordsIsALedger: nothing is different for who uses it.
func TestLedgerWithRecordsIsALedger(t *testing.T) {
	ledgertest.Run(t, func(t *testing.T) forkbox.Ledger { return keep(t) })
}

// TestRecordFollowsItsBox: it is there with the box, and gone before it.
func TestRecordFollowsItsBox(t *testing.T) {
	k := keep(t)
	box := ledgertest.Box("aaaaaaaaaaaa", "one", 1000)
	check(t, k.AddBox(t.Context(), box))
	k.flush()
	has(t, k, box.ID, false) // only being made
	box.State, box.Note, box.Paused, box.Death, box.Boot = forkbox.Stopped, "", "", nil, ""
	check(t, k.UpdateBox(t.Context(), box))
	k.flush()
	has(t, k, box.ID, true)
	if record, _ := k.Kept.Box(box.ID); len(record.Box.Env) != len(box.Env) || record.Box.Layers[0] != box.Layers[0] {
		t.Errorf("the record is %+v", record)
	}
	box.State = forkbox.Removing
	check(t, k.UpdateBox(t.Context(), box))
	has(t, k, box.ID, false)
	k.markBox(box.ID)
	k.flush()
	has(t, k, box.ID, false) // and does not come again
}

func has(t *testing.T, k *Keeper, id string, want bool) {
	t.Helper()
	if _, ok := k.Kept.Box(id); ok != want {
		t.Fatalf("there is a record: %v, want %v", ok, want)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
