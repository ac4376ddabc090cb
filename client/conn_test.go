package client

import (
	"fmt"
	"testing"

	"github.com/forkbox/forkbox"
)

// TestConnsGoOnWithTheNextDaemon: it is asked for what came after the last and
// for what was open. Nothing is passed on twice, and the end of what was open
// is not left out.
func TestConnsGoOnWithTheNextDaemon(t *testing.T) {
	got := ""
	f := connFollower{ref: "name", spec: ConnSpec{Limit: 2, Follow: true}, open: map[int64]bool{}, yield: func(c forkbox.Conn) error {
		got += fmt.Sprintf(" %d:%s", c.ID, c.State)
		return nil
	}}
	open, closed, refused, lost := forkbox.ConnOpen, forkbox.ConnClosed, forkbox.ConnRefused, forkbox.ConnLost
	type told struct {
		id    int64
		state forkbox.ConnState
	}
	for _, daemon := range []struct {
		after int64
		limit int
		tells []told
		want  string
	}{
		{0, 2, nil, ""},
		{0, 2, []told{{4, refused}, {5, open}, {6, open}, {6, closed}, {7, refused}}, " 4:refused 5:open 6:open 6:closed 7:refused"},
		{4, 0, nil, ""},
		{4, 0, []told{{5, lost}, {6, closed}, {7, refused}, {8, open}}, " 5:lost 8:open"},
		{7, 0, []told{{8, open}, {8, closed}, {9, refused}}, " 8:closed 9:refused"},
		{9, 0, nil, ""},
	} {
		if f.spec.After != daemon.after || f.spec.Limit != daemon.limit || !f.spec.Follow {
			t.Errorf("it is asked for %+v, not for after %d, limit %d", f.spec, daemon.after, daemon.limit)
		}
		got = ""
		for _, c := range daemon.tells {
			if err := f.take(forkbox.Conn{ID: c.id, State: c.state, Box: "id"}); err != nil {
				t.Fatal(err)
			}
		}
		if got != daemon.want {
			t.Errorf("passed on:%s, not%s", got, daemon.want)
		}
		f.resume()
	}
	if f.ref != "id" {
		t.Errorf("it asks about %q", f.ref)
	}
}
