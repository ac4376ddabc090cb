package ledgertest

import (
	"net/netip"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

// conn is a connection with every field set, so that a ledger that forgets one
// fails.
func conn(id int64, box string, uid int) forkbox.Conn {
	return forkbox.Conn{
		ID: id, Box: box, Name: "try", UID: uid, Exec: "3", PID: 17, Command: "curl\n\x1b[2J",
		Time: time.Now().UTC().Truncate(time.Microsecond), Lasted: time.Second,
		State: forkbox.ConnOpen, In: 5, Out: 6, Times: 2,
		NetVerdict: forkbox.NetVerdict{
			Target: forkbox.NetTarget{Proto: "tcp", Host: "a.example.com", Addr: netip.MustParseAddr("2001:db8::1"),
				Port: 443, Method: "GET", Path: "/a b"},
			Allowed: true, Rule: forkbox.NetRule{Rule: "allow a.example.com", From: "box"}, Why: "a rule", Remedy: "none",
		},
	}
}

func saveConns(t *testing.T, l forkbox.Ledger, conns ...forkbox.Conn) {
	t.Helper()
	noError(t, l.SaveConns(t.Context(), conns))
}

func connsOf(t *testing.T, l forkbox.Ledger, box string) []forkbox.Conn {
	t.Helper()
	got, err := l.Conns(t.Context(), nil, box, 0, 0)
	noError(t, err)
	return got
}

func connIsKeptWhole(t *testing.T, l forkbox.Ledger) {
	noError(t, l.SaveConns(t.Context(), nil))
	open := conn(1, "aaaaaaaaaaaa", 1)
	saveConns(t, l, open, conn(2, "aaaaaaaaaaaa", 1))
	ended := open
	ended.State, ended.In, ended.Lasted = forkbox.ConnClosed, 500, time.Minute
	saveConns(t, l, ended, conn(3, "aaaaaaaaaaaa", 1), conn(4, "aaaaaaaaaaaa", 1))
	got := connsOf(t, l, "")
	equal(t, connIDs(got), []int64{1, 2, 3, 4})
	equal(t, got[0], ended)
}

func connsByOwnerBoxAndID(t *testing.T, l forkbox.Ledger) {
	saveConns(t, l, conn(1, "aaaaaaaaaaaa", 1), conn(4, "cccccccccccc", 1)) // they need not come in order
	saveConns(t, l, conn(2, "bbbbbbbbbbbb", 2), conn(3, "aaaaaaaaaaaa", 1))
	one, two, three := 1, 2, 3
	for _, c := range []struct {
		uid   *int
		box   string
		after int64
		limit int
		want  []int64
	}{
		{nil, "", 0, 0, []int64{1, 2, 3, 4}},
		{nil, "", 2, 10, []int64{3, 4}},
		{nil, "", 4, 10, nil},
		{nil, "", 0, 2, []int64{3, 4}}, // the latest, and those oldest first
		{&one, "", 0, 10, []int64{1, 3, 4}},
		{&one, "", 1, 1, []int64{4}},
		{&three, "", 0, 10, nil},
		{nil, "aaaaaaaaaaaa", 0, 10, []int64{1, 3}},
		{&one, "aaaaaaaaaaaa", 1, 10, []int64{3}},
		{&two, "aaaaaaaaaaaa", 0, 10, nil}, // another owner's
	} {
		got, err := l.Conns(t.Context(), c.uid, c.box, c.after, c.limit)
		noError(t, err)
		equal(t, connIDs(got), c.want)
	}
}

func connsAreLost(t *testing.T, l forkbox.Ledger) {
	closed, refused := conn(2, "aaaaaaaaaaaa", 1), conn(3, "aaaaaaaaaaaa", 1)
	closed.State, refused.State = forkbox.ConnClosed, forkbox.ConnRefused
	lost := conn(1, "aaaaaaaaaaaa", 1)
	saveConns(t, l, lost, closed, refused)
	for range 2 {
		noError(t, l.LoseConns(t.Context()))
		lost.State = forkbox.ConnLost
		equal(t, connsOf(t, l, "aaaaaaaaaaaa"), []forkbox.Conn{lost, closed, refused})
	}
}

func connsOutliveTheirBox(t *testing.T, l forkbox.Ledger) {
	b := Box("aaaaaaaaaaaa", "one", 1)
	add(t, l, b)
	saveConns(t, l, conn(1, b.ID, 1))
	noError(t, l.DeleteBox(t.Context(), b.ID))
	equal(t, connIDs(connsOf(t, l, b.ID)), []int64{1})
}

// connsArePruned: a box that knocks without end does not fill the disk, nor
// does it push out what is known of another.
func connsArePruned(t *testing.T, l forkbox.Ledger) {
	const kept, slack, all, batch = 10_000, 1_000, 12_345, 256
	saveConns(t, l, conn(1, "bbbbbbbbbbbb", 1))
	for id := int64(2); id <= all; {
		var some []forkbox.Conn
		for ; len(some) < batch && id <= all; id++ {
			some = append(some, conn(id, "aaaaaaaaaaaa", 1))
		}
		saveConns(t, l, some...)
	}
	got := connsOf(t, l, "aaaaaaaaaaaa")
	if len(got) < kept || len(got) > kept+slack {
		t.Errorf("%d are kept", len(got))
	}
	equal(t, got[len(got)-1].ID, int64(all))
	equal(t, got[0].ID, int64(all-len(got)+1))
	equal(t, connIDs(connsOf(t, l, "bbbbbbbbbbbb")), []int64{1})
}

// connsOfOthersStay, however many ids a user uses up.
func connsOfOthersStay(t *testing.T, l forkbox.Ledger) {
	saveConns(t, l, conn(1, "bbbbbbbbbbbb", 1), conn(2, "aaaaaaaaaaaa", 2), conn(5_000_000, "aaaaaaaaaaaa", 2))
	saveConns(t, l, conn(50_000_000, "cccccccccccc", 2))
	equal(t, connIDs(connsOf(t, l, "bbbbbbbbbbbb")), []int64{1})
}

// oldConnsArePruned, but for the latest: ids go on from there.
func oldConnsArePruned(t *testing.T, l forkbox.Ledger) {
	old := func(id int64) forkbox.Conn {
		c := conn(id, "aaaaaaaaaaaa", 1)
		c.Time = c.Time.AddDate(0, 0, -31)
		return c
	}
	fresh := conn(2, "aaaaaaaaaaaa", 1)
	fresh.Time = fresh.Time.AddDate(0, 0, -29)
	saveConns(t, l, old(1), fresh, old(3), old(4))
	equal(t, connIDs(connsOf(t, l, "")), []int64{2, 4})
}

func connIDs(list []forkbox.Conn) (ids []int64) {
	for _, c := range list {
		ids = append(ids, c.ID)
	}
	return ids
}
