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
	got, err := l.Events(t.Context(), forkbox.EventQuery{Limit: 10})
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
		{nil, "", 0, 2, ids[:2]}, // the first: who asks goes on after them
		{&one, "", 0, 10, []int64{ids[0], ids[2], ids[3]}},
		{&one, "", ids[0], 1, ids[2:3]},
		{&three, "", 0, 10, nil},
		{nil, "aaaaaaaaaaaa", 0, 10, []int64{ids[0], ids[2]}},
		{&one, "aaaaaaaaaaaa", ids[0], 10, []int64{ids[2]}},
		{&two, "aaaaaaaaaaaa", 0, 10, nil}, // another owner's
	} {
		got, err := l.Events(t.Context(), forkbox.EventQuery{UID: c.uid, Box: c.box, After: c.after, Limit: c.limit})
		noError(t, err)
		equal(t, eventIDs(got), c.want)
	}
}

func eventsOutliveTheirBox(t *testing.T, l forkbox.Ledger) {
	b := Box("aaaaaaaaaaaa", "one", 1)
	add(t, l, b)
	ids := addEvents(t, l, event(b.ID, 1))
	noError(t, l.DeleteBox(t.Context(), b.ID))
	got, err := l.Events(t.Context(), forkbox.EventQuery{Box: b.ID, Limit: 10})
	noError(t, err)
	equal(t, eventIDs(got), ids)
}

// eventsArePruned: a box in which commands follow each other without end does not
// fill the disk, and does not push out what happened to others.
func eventsArePruned(t *testing.T, l forkbox.Ledger) {
	const kept, slack = 10_000, 1_000
	other := addEvents(t, l, event("bbbbbbbbbbbb", 1), event("cccccccccccc", 2))
	b := Box("aaaaaaaaaaaa", "one", 1)
	add(t, l, b)
	many := make([]forkbox.Event, 100)
	for i := range many {
		many[i] = event(b.ID, 1)
	}
	for range (kept + 3*slack) / len(many) {
		noError(t, l.UpdateBox(t.Context(), b, many...))
	}
	got, err := l.Events(t.Context(), forkbox.EventQuery{Box: b.ID})
	noError(t, err)
	if len(got) < kept || len(got) > kept+slack {
		t.Errorf("%d are kept", len(got))
	}
	last, err := l.LastEvent(t.Context())
	noError(t, err)
	equal(t, got[len(got)-1].ID, last)
	all, err := l.Events(t.Context(), forkbox.EventQuery{Limit: 2})
	noError(t, err)
	equal(t, eventIDs(all), other)
}

// eventsComeWithTheirChange: both are there, or neither.
func eventsComeWithTheirChange(t *testing.T, l forkbox.Ledger) {
	b, other := Box("aaaaaaaaaaaa", "one", 1), Box("bbbbbbbbbbbb", "one", 1)
	told := func(kind forkbox.EventKind) forkbox.Event {
		return forkbox.Event{Kind: kind, Box: b.ID, UID: 1}
	}
	news := l.News()
	noError(t, l.AddBox(t.Context(), b, told("a")))
	<-news
	if err := l.AddBox(t.Context(), other, told("taken name")); err == nil {
		t.Error("a name was taken twice")
	}
	noError(t, l.UpdateBox(t.Context(), b, told("b"), told("c")))
	hasCode(t, l.UpdateBox(t.Context(), other, told("no box")), forkbox.NotFound)
	x, err := l.AddExec(t.Context(), forkbox.Exec{Box: b.ID, Argv: []string{"true"}}, told("d"))
	noError(t, err)
	noError(t, l.UpdateExec(t.Context(), x, told("e")))
	s := snapshot("dddddddddddd", b, "s", 0)
	noError(t, l.AddSnapshot(t.Context(), s, b, told("f")))
	noError(t, l.DeleteSnapshot(t.Context(), s.ID, told("g")))
	noError(t, l.DeleteSnapshot(t.Context(), s.ID, told("nothing went")))
	noError(t, l.DeleteBox(t.Context(), b.ID, told("h")))
	noError(t, l.DeleteBox(t.Context(), b.ID, told("nothing went")))
	got, err := l.Events(t.Context(), forkbox.EventQuery{})
	noError(t, err)
	kinds, execs := "", ""
	for _, e := range got {
		kinds, execs = kinds+string(e.Kind), execs+e.Exec
		if e.Time.IsZero() {
			t.Errorf("%+v has no time", e)
		}
	}
	equal(t, kinds, "abcdefgh")
	equal(t, execs, "1") // d is told of the exec it is
}

func eventIDs(list []forkbox.Event) (ids []int64) {
	for _, e := range list {
		ids = append(ids, e.ID)
	}
	return ids
}

// eventsNameTheirRequest: what is written for a request says which.
func eventsNameTheirRequest(t *testing.T, l forkbox.Ledger) {
	box := Box("aaaaaaaaaaaa", "one", 1)
	told := forkbox.Event{Kind: forkbox.EventBoxCreated, UID: 1, Box: box.ID}
	noError(t, l.AddBox(forkbox.WithRequest(t.Context(), "r7"), box, told))
	_, err := l.AddEvent(t.Context(), told)
	noError(t, err)
	events, err := l.Events(t.Context(), forkbox.EventQuery{})
	noError(t, err)
	if len(events) != 2 || events[0].Request != "r7" || events[1].Request != "" {
		t.Errorf("got %+v", events)
	}
}
