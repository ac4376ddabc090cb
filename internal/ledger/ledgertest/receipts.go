package ledgertest

import (
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

// receipt is one with every field set, so that a ledger that forgets one fails.
func receipt(id, box string, uid int, state forkbox.ReceiptState, after time.Duration) forkbox.Receipt {
	made := time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC).Add(after)
	return forkbox.Receipt{
		ID: id, Box: box, BoxName: "try", State: state, Created: made, Undone: made.Add(time.Hour),
		Owner:   forkbox.Owner{UID: uid, GID: uid, Groups: []int{4, uid}, Name: "ada", Home: "/home/ada"},
		Message: "a message", Paths: 3, Bytes: 1 << 40, Merged: 1, Workdir: "/src", Commit: "abc", Note: "a note",
		Hash: "sha256:1", Left: 2, Cautions: []forkbox.Caution{{Path: "/a", Why: "setuid"}},
		Entries: []forkbox.Landed{{Path: "/a", Kind: forkbox.Added, Merged: true, Partial: true}},
	}
}

func receiptIsKeptWhole(t *testing.T, l forkbox.Ledger) {
	want := receipt("r1", "aaaaaaaaaaaa", 1000, forkbox.Landing, 0)
	noError(t, l.AddReceipt(t.Context(), want))
	got, err := l.Receipt(t.Context(), "r1")
	noError(t, err)
	equal(t, got, want)
	hasCode(t, l.AddReceipt(t.Context(), want), forkbox.Exists)

	want.State, want.Note, want.Paths = forkbox.Undone, "", 4
	noError(t, l.UpdateReceipt(t.Context(), want))
	got, err = l.Receipt(t.Context(), "r1")
	noError(t, err)
	equal(t, got, want)
}

func receiptsByOwnerStateAndBox(t *testing.T, l forkbox.Ledger) {
	for i, r := range []forkbox.Receipt{
		receipt("r1", "aaaaaaaaaaaa", 1, forkbox.Applied, 0),
		receipt("r2", "bbbbbbbbbbbb", 2, forkbox.Landing, 0),
		receipt("r3", "aaaaaaaaaaaa", 1, forkbox.Undone, 0),
		receipt("r4", "aaaaaaaaaaaa", 1, forkbox.Landing, 0),
	} {
		r.Created = r.Created.Add(time.Duration(i))
		noError(t, l.AddReceipt(t.Context(), r))
	}
	one, three := 1, 3
	for _, c := range []struct {
		uid    *int
		states []forkbox.ReceiptState
		want   []string
	}{
		{nil, nil, []string{"r4", "r3", "r2", "r1"}},
		{&one, nil, []string{"r4", "r3", "r1"}},
		{&three, nil, nil},
		{nil, []forkbox.ReceiptState{forkbox.Landing}, []string{"r4", "r2"}},
		{&one, []forkbox.ReceiptState{forkbox.Applied, forkbox.Undone}, []string{"r3", "r1"}},
	} {
		got, err := l.Receipts(t.Context(), c.uid, c.states...)
		noError(t, err)
		equal(t, receiptIDs(got), c.want)
	}
	got, err := l.ReceiptsOf(t.Context(), "aaaaaaaaaaaa")
	noError(t, err)
	equal(t, receiptIDs(got), []string{"r1", "r3", "r4"})
}

// receiptOutlivesItsBox: what was done to reality is known after rm.
func receiptOutlivesItsBox(t *testing.T, l forkbox.Ledger) {
	b := Box("aaaaaaaaaaaa", "one", 1000)
	add(t, l, b)
	noError(t, l.AddReceipt(t.Context(), receipt("r1", b.ID, 1000, forkbox.Applied, 0)))
	noError(t, l.DeleteBox(t.Context(), b.ID))
	_, err := l.Receipt(t.Context(), "r1")
	noError(t, err)
	noError(t, l.DeleteReceipt(t.Context(), "r1"))
	noError(t, l.DeleteReceipt(t.Context(), "r1")) // it can be repeated
	_, err = l.Receipt(t.Context(), "r1")
	hasCode(t, err, forkbox.NotFound)
	hasCode(t, l.UpdateReceipt(t.Context(), receipt("r1", b.ID, 1000, forkbox.Applied, 0)), forkbox.NotFound)
}

func receiptIDs(list []forkbox.Receipt) (ids []string) {
	for _, r := range list {
		ids = append(ids, r.ID)
	}
	return ids
}
