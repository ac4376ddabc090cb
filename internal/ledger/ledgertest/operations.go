package ledgertest

import (
	"fmt"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

func anOperation(id string, uid, second int) forkbox.Operation {
	return forkbox.Operation{
		ID: id, Kind: "applyBox", Target: "b1", State: forkbox.OperationRunning, Request: "r1", UID: uid, Async: true,
		Began: time.Date(2026, 1, 2, 3, 4, second, 5, time.UTC), Progress: forkbox.Progress{Step: "staging", Done: 1, Total: 2, Unit: "paths"},
	}
}

func operationIsKeptWhole(t *testing.T, l forkbox.Ledger) {
	told, err := l.AddEvent(t.Context(), forkbox.Event{Kind: forkbox.EventBoxCreated, UID: 1})
	noError(t, err)
	one, other := anOperation("a", 1, 1), anOperation("b", 2, 0)
	noError(t, l.SaveOperation(t.Context(), one))
	noError(t, l.SaveOperation(t.Context(), other))
	got, err := l.Operations(t.Context(), 1)
	noError(t, err)
	one.After = told.ID
	equal(t, got, []forkbox.Operation{one})
	_, err = l.AddEvent(t.Context(), forkbox.Event{Kind: forkbox.EventBoxCreated, UID: 1})
	noError(t, err)
	ended := one.Began.Add(time.Second)
	one.State, one.Ended, one.Result = forkbox.OperationFailed, &ended, map[string]any{"id": "r1"}
	one.Error = forkbox.Errorf(forkbox.Busy, "apply", "no").Hint("wait")
	one.Found = []forkbox.Event{told}
	noError(t, l.SaveOperation(t.Context(), one))
	got, err = l.Operations(t.Context(), 1)
	noError(t, err)
	equal(t, got, []forkbox.Operation{one})
}

// operationsArePruned: by when they ended, and of each user by number.
func operationsArePruned(t *testing.T, l forkbox.Ledger) {
	for second := range 6 {
		op := anOperation(fmt.Sprint(second), 1, second)
		if ended := op.Began; second != 1 { // one runs for ever
			op.Ended = &ended
		}
		noError(t, l.SaveOperation(t.Context(), op))
	}
	noError(t, l.SaveOperation(t.Context(), anOperation("other", 2, 0)))
	count := func(before time.Time, most int, want ...string) {
		t.Helper()
		noError(t, l.PruneOperations(t.Context(), before, most))
		list, err := l.Operations(t.Context(), 1)
		noError(t, err)
		var ids []string
		for _, op := range list {
			ids = append(ids, op.ID)
		}
		equal(t, ids, want)
	}
	count(anOperation("", 0, 3).Began, 100, "1", "3", "4", "5")
	count(anOperation("", 0, 0).Began, 2, "4", "5")
	others, err := l.Operations(t.Context(), 2)
	noError(t, err)
	equal(t, len(others), 1)
}
