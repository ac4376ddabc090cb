package ledgertest

import (
	"fmt"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

func aKeyed(id string, uid, second int) forkbox.Keyed {
	return forkbox.Keyed{ID: id, UID: uid, Began: time.Date(2026, 1, 2, 3, 4, second, 5, time.UTC), Request: "r-" + id, Print: []byte{0, 1}}
}

func keyedIsKeptWhole(t *testing.T, l forkbox.Ledger) {
	told, err := l.AddEvent(t.Context(), forkbox.Event{Kind: forkbox.EventBoxCreated, UID: 1})
	noError(t, err)
	k := aKeyed("a", 1, 0)
	was, err := l.BeginKeyed(t.Context(), k)
	noError(t, err)
	equal(t, was, nil)
	again := aKeyed("a", 1, 9)
	again.Print, again.Request = nil, "another"
	was, err = l.BeginKeyed(t.Context(), again)
	noError(t, err)
	k.After = told.ID
	equal(t, was, &k)
	k.Print, k.Status, k.Answer = []byte{7}, 201, []byte{0, 0xff}
	noError(t, l.EndKeyed(t.Context(), k))
	was, err = l.BeginKeyed(t.Context(), again)
	noError(t, err)
	equal(t, was, &k)
	noError(t, l.ForgetKeyed(t.Context(), "a"))
	noError(t, l.ForgetKeyed(t.Context(), "a")) // it can be repeated
	noError(t, l.EndKeyed(t.Context(), k))
	was, err = l.BeginKeyed(t.Context(), again)
	noError(t, err)
	equal(t, was, nil)
}

// keyedArePruned: by age, and of each user by number and by size.
func keyedArePruned(t *testing.T, l forkbox.Ledger) {
	add := func(uid, second, size int) {
		t.Helper()
		k := aKeyed(fmt.Sprint(uid, "/", second), uid, second)
		was, err := l.BeginKeyed(t.Context(), k)
		noError(t, err)
		equal(t, was, nil)
		k.Status, k.Answer = 201, make([]byte, size)
		noError(t, l.EndKeyed(t.Context(), k))
	}
	for second := range 6 {
		add(1, second, 1)
		add(2, second, 10)
	}
	noError(t, l.PruneKeyed(t.Context(), aKeyed("", 0, 1).Began, 4, 25))
	for _, c := range []struct{ uid, oldest int }{{1, 2}, {2, 4}} {
		for second := range 6 {
			k := aKeyed(fmt.Sprint(c.uid, "/", second), c.uid, second)
			was, err := l.BeginKeyed(t.Context(), k)
			noError(t, err)
			if kept := was != nil; kept != (second >= c.oldest) {
				t.Errorf("of %d, the one of second %d: kept %v", c.uid, second, kept)
			}
		}
	}
}
