package engine

import (
	"context"
	"errors"
	"testing"

	"github.com/forkbox/forkbox"
)

func (g *fakeGate) refuse(host string) forkbox.Conn {
	c := refusal(g.hears.NextID(), host)
	c.Box = "somebody else's"
	g.hears.Record(c)
	return c
}

func TestConnLog(t *testing.T) {
	w := newNetWorld(t)
	one, two := w.make(CreateSpec{Name: "one"}), w.make(CreateSpec{Name: "two"})
	w.exec("one")
	w.exec("two")
	gate := w.nets.gate(one.ID)
	first := gate.refuse("a.example.com")
	w.nets.gate(two.ID).refuse("b.example.com")
	last := gate.refuse("c.example.com")
	gate.hears.Record(forkbox.Conn{State: forkbox.ConnOpen}) // an id and a time are given

	got := w.conns("one")
	if len(got) != 3 || len(w.conns("")) != 4 {
		t.Fatalf("got %+v", got)
	}
	c := got[0]
	if c.Box != one.ID || c.Name != "one" || c.UID != ada.UID || c.Target.Host != "a.example.com" || c.ID != first.ID {
		t.Errorf("got %+v", c)
	}
	if got[2].ID <= last.ID || got[2].Time.IsZero() {
		t.Errorf("got %+v", got[2])
	}
	latest := w.list("one", first.ID, 1)
	if len(latest) != 1 || latest[0].ID != got[2].ID {
		t.Errorf("got %+v", latest)
	}
	check(t, w.Remove(t.Context(), ada, "one", true))
	if len(w.conns(one.ID)) != 3 { // they outlive it
		t.Error("they went with the box")
	}
	wantCode(t, w.ConnLog(t.Context(), ada, "one", 0, 0, false, nil), forkbox.NotFound)
	for _, ref := range []string{"", one.ID} {
		check(t, w.ConnLog(t.Context(), bob, ref, 0, 0, false, func(c forkbox.Conn) error { t.Errorf("bob sees %+v", c); return nil }))
	}
	wantCode(t, w.ConnLog(t.Context(), bob, "two", 0, 0, false, nil), forkbox.NotFound)
}

func (w *netWorld) list(ref string, after int64, limit int) (conns []forkbox.Conn) {
	w.t.Helper()
	check(w.t, w.ConnLog(context.Background(), ada, ref, after, limit, false, func(c forkbox.Conn) error {
		conns = append(conns, c)
		return nil
	}))
	return conns
}

func TestConnLogIsFollowed(t *testing.T) {
	w := newNetWorld(t)
	b := w.make(CreateSpec{Name: "one"})
	w.make(CreateSpec{Name: "two"})
	w.exec("one")
	w.exec("two")
	gate := w.nets.gate(b.ID)
	old := opening(gate.hears.NextID())
	gate.hears.Record(old)
	gate.refuse("a.example.com")
	got, done := make(chan forkbox.Conn, 100), make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		done <- w.ConnLog(ctx, ada, "one", old.ID, 0, true, func(c forkbox.Conn) error { got <- c; return nil })
	}()
	if c := <-got; c.Target.Host != "a.example.com" {
		t.Errorf("got %+v", c)
	}
	w.nets.gate(w.box("two").ID).refuse("other.example.com") // not asked for
	old.State, old.In = forkbox.ConnClosed, 7
	gate.hears.Record(old) // also the end of what came before
	if c := <-got; c.ID != old.ID || c.In != 7 {
		t.Errorf("got %+v", c)
	}
	next := opening(gate.hears.NextID())
	gate.hears.Record(next)
	w.list("one", 0, 0) // when it is written
	next.State = forkbox.ConnClosed
	gate.hears.Record(next)
	for _, state := range []forkbox.ConnState{forkbox.ConnOpen, forkbox.ConnClosed} {
		if c := <-got; c.ID != next.ID || c.State != state {
			t.Errorf("got %+v", c)
		}
	}
	cancel()
	check(t, <-done)
	enough := errors.New("enough")
	if err := w.ConnLog(t.Context(), ada, "", 0, 0, true, func(forkbox.Conn) error { return enough }); err != enough {
		t.Errorf("got %v", err)
	}
	go func() {
		done <- w.ConnLog(t.Context(), ada, "", 0, 0, true, func(c forkbox.Conn) error { got <- c; return nil })
	}()
	<-got
	check(t, w.Close(t.Context()))
	wantCode(t, <-done, forkbox.Unavailable)
	if w.Followers() != 0 {
		t.Error("somebody still follows")
	}
}

// TestFollowingEndsWithTheBox: a follower of a box that is removed need not wait
// for ever.
func TestFollowingEndsWithTheBox(t *testing.T) {
	w := newNetWorld(t)
	b := w.make(CreateSpec{Name: "one"})
	w.exec("one")
	w.nets.gate(b.ID).refuse("a.example.com")
	heard, done := make(chan bool, 100), make(chan error, 1)
	go func() {
		done <- w.ConnLog(t.Context(), ada, "one", 0, 0, true, func(forkbox.Conn) error { heard <- true; return nil })
	}()
	<-heard
	check(t, w.Remove(t.Context(), ada, "one", true))
	check(t, <-done)
}

func TestRestartLosesOpenConnectionsAndCountsOn(t *testing.T) {
	w := newNetWorld(t)
	b := w.make(CreateSpec{Name: "one"})
	w.exec("one")
	hears := w.nets.gate(b.ID).hears
	for range 3 {
		hears.Record(opening(hears.NextID()))
	}
	last := hears.NextID() - 1
	check(t, w.Close(t.Context()))
	w.again(&fuse{})
	for _, c := range w.conns("one") {
		if c.State != forkbox.ConnLost {
			t.Errorf("got %+v", c)
		}
	}
	if id := w.nets.gate(b.ID).hears.NextID(); id <= last {
		t.Errorf("%d comes after %d", id, last)
	}
}

func refusal(id int64, host string) forkbox.Conn {
	return forkbox.Conn{ID: id, Box: "b", State: forkbox.ConnRefused,
		NetVerdict: forkbox.NetVerdict{Target: forkbox.NetTarget{Proto: "tcp", Host: host, Port: 443}}}
}

func opening(id int64) forkbox.Conn { return forkbox.Conn{ID: id, Box: "b", State: forkbox.ConnOpen} }
