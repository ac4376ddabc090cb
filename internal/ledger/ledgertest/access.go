package ledgertest

import (
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

func tokenIsKeptWhole(t *testing.T, l forkbox.Ledger) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	one := forkbox.Token{
		ID: "aaaaaaaaaaaa", Name: "ci\n", UID: 1000, User: "ada", Scopes: []string{"read", "boxes"}, Created: at, By: "bbbbbbbbbbbb",
		Expires: &at, Used: &at, Revoked: &at, Hash: []byte{0, 1, 0xff},
	}
	two := forkbox.Token{ID: "cccccccccccc", UID: 0, User: "root", Scopes: []string{"all"}, Created: at.Add(1), Hash: []byte{2}}
	made := forkbox.Event{Kind: forkbox.EventTokenMade, UID: 1000, Token: one.ID, Time: at}
	noError(t, l.AddToken(t.Context(), two))
	noError(t, l.AddToken(t.Context(), one, made))
	if err := l.AddToken(t.Context(), one, made); err == nil {
		t.Fatal("a token was added twice")
	}
	two.Used, two.Name = &at, "new"
	gone := forkbox.Token{ID: "dddddddddddd"}
	ended := forkbox.Event{Kind: forkbox.EventTokenRevoked, Token: two.ID, Time: at}
	noError(t, l.UpdateTokens(t.Context(), []forkbox.Token{two, gone}, ended))
	noError(t, l.UpdateTokens(t.Context(), nil, ended)) // nothing was changed
	told, err := l.Events(t.Context(), forkbox.EventQuery{})
	noError(t, err)
	if len(told) != 2 || told[0].Token != one.ID || told[1].Token != two.ID {
		t.Errorf("told is %+v", told)
	}
	got, err := l.Tokens(t.Context())
	noError(t, err)
	equal(t, got, []forkbox.Token{one, two})
	equal(t, [][]byte{got[0].Hash, got[1].Hash}, [][]byte{one.Hash, two.Hash})
	noError(t, l.DeleteToken(t.Context(), one.ID))
	noError(t, l.DeleteToken(t.Context(), one.ID)) // it can be repeated
	got, err = l.Tokens(t.Context())
	noError(t, err)
	equal(t, got, []forkbox.Token{two})
}

func aCall(id int64, uid int, user, target string) forkbox.Call {
	return forkbox.Call{
		ID: id, Time: time.Date(2026, 1, 2, 3, 4, int(id), 0, time.UTC), UID: uid, User: user, Kind: "token", Via: "aaaaaaaaaaaa", Label: "ci",
		From: "192.0.2.1", Name: "createBox", Target: target, Box: "bbbbbbbbbbbb", Outcome: "denied", Why: "no", Request: "r1", Times: 3,
	}
}

func callIsKeptWhole(t *testing.T, l forkbox.Ledger) {
	last, err := l.LastCall(t.Context())
	noError(t, err)
	equal(t, last, 0)
	one, two := aCall(1, 1, "ada", "a"), aCall(7, -1, "", "b")
	noError(t, l.SaveCalls(t.Context(), []forkbox.Call{one, two}))
	one.Outcome, one.Times = "ok", 9
	noError(t, l.SaveCalls(t.Context(), []forkbox.Call{one}))
	noError(t, l.SaveCalls(t.Context(), nil))
	got, err := l.Calls(t.Context(), forkbox.CallFilter{})
	noError(t, err)
	equal(t, got, []forkbox.Call{one, two})
	last, err = l.LastCall(t.Context())
	noError(t, err)
	equal(t, last, 7)
}

func callsAreSelected(t *testing.T, l forkbox.Ledger) {
	calls := []forkbox.Call{aCall(1, 1, "ada", "a"), aCall(2, 2, "bob", "a@s1"), aCall(3, 1, "ada", "ab"), aCall(4, 12, "12", "c")}
	calls[3].Via, calls[3].Label, calls[3].Box = "cccccccccccc", "other", "dddddddddddd"
	noError(t, l.SaveCalls(t.Context(), calls))
	one := 1
	for _, c := range []struct {
		filter forkbox.CallFilter
		want   []int64
	}{
		{forkbox.CallFilter{Limit: 2}, []int64{3, 4}}, // the latest, and those oldest first
		{forkbox.CallFilter{UID: &one}, []int64{1, 3}},
		{forkbox.CallFilter{After: 3}, []int64{4}},
		{forkbox.CallFilter{Since: calls[1].Time}, []int64{2, 3, 4}},
		{forkbox.CallFilter{Who: "ada"}, []int64{1, 3}},
		{forkbox.CallFilter{Who: "2"}, []int64{2}},
		{forkbox.CallFilter{Who: "ci"}, []int64{1, 2, 3}},
		{forkbox.CallFilter{Who: "cccccccccccc"}, []int64{4}},
		{forkbox.CallFilter{Who: "x' OR 1=1"}, nil},
		{forkbox.CallFilter{Targets: []string{"a"}}, []int64{1, 2}}, // not what begins like it
		{forkbox.CallFilter{Targets: []string{"x", "dddddddddddd"}}, []int64{4}},
		{forkbox.CallFilter{Targets: []string{"%"}}, nil},
	} {
		got, err := l.Calls(t.Context(), c.filter)
		noError(t, err)
		var ids []int64
		for _, call := range got {
			ids = append(ids, call.ID)
		}
		equal(t, ids, c.want)
	}
}

func callsArePruned(t *testing.T, l forkbox.Ledger) {
	for i := range 10 {
		noError(t, l.SaveCalls(t.Context(), []forkbox.Call{aCall(int64(i+1), i%2, "x", "")}))
	}
	gone, err := l.PruneCalls(t.Context(), aCall(3, 0, "", "").Time, 3)
	noError(t, err)
	equal(t, gone, 4) // 1 and 2 for their age, 3 and 4 for the number of their user's
	got, err := l.Calls(t.Context(), forkbox.CallFilter{})
	noError(t, err)
	equal(t, got[0].ID, 5)
	_, err = l.PruneCalls(t.Context(), time.Now().AddDate(100, 0, 0), 3)
	noError(t, err)
	last, err := l.LastCall(t.Context())
	noError(t, err)
	equal(t, last, 10) // ids go on from there
}
