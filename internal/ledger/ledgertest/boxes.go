package ledgertest

import (
	"context"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

func boxIsKeptWhole(t *testing.T, l forkbox.Ledger) {
	want := Box("aaaaaaaaaaaa", "one", 1000)
	add(t, l, want)
	got, err := l.Box(t.Context(), want.ID)
	noError(t, err)
	equal(t, got, want)
}

func boxUpdateReplaces(t *testing.T, l forkbox.Ledger) {
	b := Box("aaaaaaaaaaaa", "one", 1000)
	add(t, l, b, Box("bbbbbbbbbbbb", "two", 1000))
	b.State, b.Name, b.Note, b.Pinned = forkbox.Running, "uno", "", false
	noError(t, l.UpdateBox(t.Context(), b))
	got, err := l.Box(t.Context(), b.ID)
	noError(t, err)
	equal(t, got, b)

	b.Name = "two"
	hasCode(t, l.UpdateBox(t.Context(), b), forkbox.Exists)
}

func boxNameIsUniquePerOwner(t *testing.T, l forkbox.Ledger) {
	add(t, l, Box("aaaaaaaaaaaa", "same", 1000), Box("bbbbbbbbbbbb", "same", 1001))
	hasCode(t, l.AddBox(t.Context(), Box("cccccccccccc", "same", 1000)), forkbox.Exists)
	noError(t, l.DeleteBox(t.Context(), "aaaaaaaaaaaa"))
	add(t, l, Box("cccccccccccc", "same", 1000))
}

func boxDeleteTakesExecsAlong(t *testing.T, l forkbox.Ledger) {
	b := Box("aaaaaaaaaaaa", "one", 1000)
	add(t, l, b)
	_, err := l.AddExec(t.Context(), exec(b.ID, "true"))
	noError(t, err)
	noError(t, l.DeleteBox(t.Context(), b.ID))
	noError(t, l.DeleteBox(t.Context(), b.ID)) // it can be repeated

	execs, err := l.Execs(t.Context(), b.ID)
	noError(t, err)
	equal(t, len(execs), 0)
	_, err = l.Exec(t.Context(), b.ID, "1")
	hasCode(t, err, forkbox.NotFound)
}

func boxesByOwnerAndState(t *testing.T, l forkbox.Ledger) {
	now := time.Now()
	for i, s := range []struct {
		id    string
		uid   int
		state forkbox.State
	}{
		{"cccccccccccc", 1, forkbox.Stopped},
		{"aaaaaaaaaaaa", 2, forkbox.Running},
		{"bbbbbbbbbbbb", 1, forkbox.Removing},
		{"dddddddddddd", 1, forkbox.Creating},
	} {
		b := Box(s.id, s.id, s.uid)
		b.State, b.Created = s.state, now.Add(time.Duration(i))
		add(t, l, b)
	}
	one, three := 1, 3
	for _, c := range []struct {
		uid    *int
		states []forkbox.State
		want   []string
	}{
		{nil, nil, []string{"cccccccccccc", "aaaaaaaaaaaa", "bbbbbbbbbbbb", "dddddddddddd"}},
		{&one, nil, []string{"cccccccccccc", "bbbbbbbbbbbb", "dddddddddddd"}},
		{&three, nil, nil},
		{nil, []forkbox.State{forkbox.Running, forkbox.Removing}, []string{"aaaaaaaaaaaa", "bbbbbbbbbbbb"}},
		{nil, []forkbox.State{forkbox.Stopped, forkbox.Running}, []string{"cccccccccccc", "aaaaaaaaaaaa"}},
		{&one, []forkbox.State{forkbox.Running, forkbox.Creating}, []string{"dddddddddddd"}},
	} {
		got, err := l.Boxes(t.Context(), c.uid, c.states...)
		noError(t, err)
		equal(t, ids(got), c.want)
	}
}

func findBoxes(t *testing.T, l forkbox.Ledger) {
	add(t, l,
		Box("aa0000000001", "otter", 1),
		Box("aa0000000002", "ot", 1),
		Box("bb0000000003", "aardvark", 1),
		Box("aa0000000004", "otter", 2),
		Box("cc0000000005", "100%", 1),
		Box("cc0000000006", "100_a", 1))
	for _, c := range []struct {
		prefix string
		want   []string
	}{
		{"ot", []string{"aa0000000002", "aa0000000001"}}, // the exact one first
		{"ott", []string{"aa0000000001"}},
		{"aa", []string{"aa0000000001", "aa0000000002", "bb0000000003"}},
		{"aa0000000004", nil}, // another owner's
		{"OT", nil},
		{"100%", []string{"cc0000000005"}}, // a prefix, not a pattern
		{"_", nil},
		{"zebra", nil},
	} {
		got, err := l.FindBoxes(t.Context(), 1, c.prefix)
		noError(t, err)
		equal(t, ids(got), c.want)
	}
}

func notFound(t *testing.T, l forkbox.Ledger) {
	_, err := l.Box(t.Context(), "aaaaaaaaaaaa")
	hasCode(t, err, forkbox.NotFound)
	hasCode(t, l.UpdateBox(t.Context(), Box("aaaaaaaaaaaa", "one", 1)), forkbox.NotFound)
	_, err = l.AddExec(t.Context(), exec("aaaaaaaaaaaa", "true"))
	hasCode(t, err, forkbox.NotFound)

	add(t, l, Box("aaaaaaaaaaaa", "one", 1))
	for _, id := range []string{"1", "", "one", "-1", "99999999999999999999"} {
		_, err = l.Exec(t.Context(), "aaaaaaaaaaaa", id)
		hasCode(t, err, forkbox.NotFound)
		e := exec("aaaaaaaaaaaa", "true")
		e.ID = id
		hasCode(t, l.UpdateExec(t.Context(), e), forkbox.NotFound)
	}
}

// cancelledCaller: whatever a ledger answers a caller who has given up, the
// answer is true.
func cancelledCaller(t *testing.T, l forkbox.Ledger) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	added := l.AddBox(ctx, Box("aaaaaaaaaaaa", "one", 1))
	_, err := l.Box(t.Context(), "aaaaaaaaaaaa")
	if (added == nil) != (err == nil) {
		t.Fatalf("AddBox said %v, and then Box said %v", added, err)
	}
}
