package ledgertest

import (
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

func event(box string, uid int) forkbox.Event {
	return forkbox.Event{
		Box: box, Name: "try", Exec: "3", Kind: forkbox.EventOOM, UID: uid,
		Time: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Text: "memory limit\nof 1g",
	}
}

func addEvents(t *testing.T, l forkbox.Ledger, events ...forkbox.Event) (ids []int64) {
	t.Helper()
	for _, e := range events {
		added, err := l.AddEvent(t.Context(), e)
		noError(t, err)
		ids = append(ids, added.ID)
	}
	return ids
}

func eventIsKeptWhole(t *testing.T, l forkbox.Ledger) {
	want, err := l.AddEvent(t.Context(), event("aaaaaaaaaaaa", 1))
	noError(t, err)
	if want.ID <= 0 {
		t.Fatalf("the id is %d", want.ID)
	}
	got, err := l.Events(t.Context(), nil, "", 0, 10)
	noError(t, err)
	equal(t, got, []forkbox.Event{want})
}

func eventsByOwnerBoxAndID(t *testing.T, l forkbox.Ledger) {
	ids := addEvents(t, l, event("aaaaaaaaaaaa", 1), event("bbbbbbbbbbbb", 2), event("aaaaaaaaaaaa", 1), event("cccccccccccc", 1))
	one, two, three := 1, 2, 3
	for _, c := range []struct {
		uid   *int
		box   string
		after int64
		limit int
		want  []int64
	}{
		{nil, "", 0, 0, ids},
		{nil, "", ids[1], 10, ids[2:]},
		{nil, "", ids[3], 10, nil},
		{nil, "", 0, 2, ids[2:]}, // the latest, and those oldest first
		{&one, "", 0, 10, []int64{ids[0], ids[2], ids[3]}},
		{&one, "", ids[0], 1, ids[3:]},
		{&three, "", 0, 10, nil},
		{nil, "aaaaaaaaaaaa", 0, 10, []int64{ids[0], ids[2]}},
		{&one, "aaaaaaaaaaaa", ids[0], 10, []int64{ids[2]}},
		{&two, "aaaaaaaaaaaa", 0, 10, nil}, // another owner's
	} {
		got, err := l.Events(t.Context(), c.uid, c.box, c.after, c.limit)
		noError(t, err)
		equal(t, eventIDs(got), c.want)
	}
}

func eventsOutliveTheirBox(t *testing.T, l forkbox.Ledger) {
	b := Box("aaaaaaaaaaaa", "one", 1)
	add(t, l, b)
	ids := addEvents(t, l, event(b.ID, 1))
	noError(t, l.DeleteBox(t.Context(), b.ID))
	got, err := l.Events(t.Context(), nil, b.ID, 0, 10)
	noError(t, err)
	equal(t, eventIDs(got), ids)
}

// eventsArePruned: a box that meets its limit without end does not fill the disk.
func eventsArePruned(t *testing.T, l forkbox.Ledger) {
	const kept, more = 10_000, 7
	first := addEvents(t, l, event("aaaaaaaaaaaa", 1))[0]
	for range kept + more - 1 {
		addEvents(t, l, event("aaaaaaaaaaaa", 1))
	}
	got, err := l.Events(t.Context(), nil, "", 0, 0)
	noError(t, err)
	equal(t, len(got), kept)
	equal(t, got[0].ID, first+more)
}

func eventIDs(list []forkbox.Event) (ids []int64) {
	for _, e := range list {
		ids = append(ids, e.ID)
	}
	return ids
}
