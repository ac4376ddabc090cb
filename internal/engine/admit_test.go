package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

// waits says whether a request waits with a ticket, and at which place.
func (g *governedWorld) waits(ticket string) (forkbox.Waiting, bool) {
	g.t.Helper()
	list, err := g.Queue(context.Background(), ada)
	check(g.t, err)
	for _, w := range list {
		if w.Ticket == ticket {
			return w, true
		}
	}
	return forkbox.Waiting{}, false
}

// execSoon starts a command in the background.
func (g *governedWorld) execSoon(ctx context.Context, ref string, wish forkbox.Wish) <-chan error {
	done := make(chan error, 1)
	go func() {
		req := command("sleep")
		req.Wish = wish
		_, err := g.Exec(ctx, ada, ref, req, forkbox.Stdio{})
		done <- err
	}()
	if wish.Ticket != "" {
		g.eventually(wish.Ticket+" waits", func() bool { _, ok := g.waits(wish.Ticket); return ok })
	}
	return done
}

func TestQueueByPriorityThenInOrder(t *testing.T) {
	w := newGovernedWorld(newWorld(t))
	w.policies.with(func(p *fakePolicies) { p.admit, p.patience = places(1, 9), time.Hour })
	for _, name := range []string{"busy", "low", "first", "second"} {
		w.make(name, nil)
	}
	w.exec("busy")
	low := w.execSoon(t.Context(), "low", forkbox.Wish{Ticket: "low", Priority: forkbox.LowPriority})
	first := w.execSoon(t.Context(), "first", forkbox.Wish{Ticket: "first"})
	second := w.execSoon(t.Context(), "second", forkbox.Wish{Ticket: "second"})
	for place, ticket := range []string{"first", "second", "low"} {
		got, _ := w.waits(ticket)
		why := "others wait before it"
		if place == 0 {
			why = "1 of 1 boxes run"
		}
		if got.Place != place+1 || got.What == "" || got.Why != why || !got.Deadline.After(got.Since) {
			t.Errorf("%s: %+v", ticket, got)
		}
	}
	others, err := w.Queue(t.Context(), bob)
	if err != nil || len(others) != 3 || others[0].What+others[0].Ticket+others[0].Why != "" || others[0].Place != 1 {
		t.Errorf("bob sees %+v, %v", others, err)
	}
	for _, c := range []struct {
		stop string
		next <-chan error
	}{{"busy", first}, {"first", second}, {"second", low}} {
		_, err := w.Stop(t.Context(), ada, c.stop, nil)
		check(t, err)
		check(t, <-c.next)
	}
	check(t, w.disagreement())
}

// Who waits holds nothing: the box can be stopped and removed meanwhile.
func TestWaitingKeepsNobodyFromTheBox(t *testing.T) {
	w := newGovernedWorld(newWorld(t))
	w.policies.with(func(p *fakePolicies) { p.admit, p.patience = places(1, 9), time.Hour })
	w.make("busy", nil)
	w.make("one", nil)
	w.exec("busy")
	waiting := w.execSoon(t.Context(), "one", forkbox.Wish{Ticket: "t"})
	_, err := w.Stop(t.Context(), ada, "one", nil)
	check(t, err)
	check(t, w.Remove(t.Context(), ada, "one", false))
	_, err = w.Stop(t.Context(), ada, "busy", nil)
	check(t, err)
	wantCode(t, <-waiting, forkbox.NotFound)
	if waiting, admitted := w.Line.Len(); waiting+admitted != 0 {
		t.Errorf("%d wait and %d have a place", waiting, admitted)
	}
}

func TestWaitEnds(t *testing.T) {
	w := newGovernedWorld(newWorld(t))
	w.policies.with(func(p *fakePolicies) { p.admit, p.patience = places(1, 9), time.Hour })
	w.make("busy", nil)
	w.make("one", nil)
	w.exec("busy")
	// With the caller.
	ctx, cancel := context.WithCancel(t.Context())
	waiting := w.execSoon(ctx, "one", forkbox.Wish{Ticket: "t"})
	cancel()
	wantCode(t, <-waiting, forkbox.Busy)
	// At its deadline.
	little := int64(time.Millisecond)
	_, err := w.Exec(t.Context(), ada, "one", withWish(forkbox.Wish{Wait: &little}), forkbox.Stdio{})
	wantCode(t, err, forkbox.Busy)
	// By itself, where the daemon is not told that there is room.
	waiting = w.execSoon(t.Context(), "one", forkbox.Wish{Ticket: "t"})
	w.policies.with(func(p *fakePolicies) { p.admit = places(2, 9) })
	check(t, <-waiting)
	// With the engine.
	w.make("two", nil)
	waiting = w.execSoon(t.Context(), "two", forkbox.Wish{Ticket: "t"})
	check(t, w.Close(t.Context()))
	wantCode(t, <-waiting, forkbox.Unavailable)
}

func withWish(wish forkbox.Wish) ExecRequest {
	req := command("sleep")
	req.Wish = wish
	return req
}

// A box that stops while a command waits for it is started for the command,
// with a place of its own.
func TestStoppedWhileACommandWaits(t *testing.T) {
	w := newGovernedWorld(newWorld(t))
	var pressed atomic.Bool
	w.policies.with(func(p *fakePolicies) {
		p.patience = time.Hour
		p.admit = func(_ Committed, want Want) Verdict {
			return Verdict{OK: !want.Exec || !pressed.Load(), Wait: true, Why: "memory pressure of 70 %"}
		}
	})
	b := w.make("one", nil)
	_, err := w.Start(t.Context(), ada, "one")
	check(t, err)
	pressed.Store(true)
	waiting := w.execSoon(t.Context(), "one", forkbox.Wish{Ticket: "t"})
	_, err = w.Stop(t.Context(), ada, "one", nil)
	check(t, err)
	pressed.Store(false)
	check(t, <-waiting)
	w.policies.with(func(p *fakePolicies) {
		if last := p.asked[len(p.asked)-1]; !last.Start || !last.Exec {
			t.Errorf("the last place was for %+v", last)
		}
	})
	if w.state(b.ID) != forkbox.Running {
		t.Error("it does not run")
	}
}

func TestForkWaitsForEachChild(t *testing.T) {
	l := newLayeredWorld(t, true)
	w := newGovernedWorld(l.world)
	l.world.restart(&fuse{}, func(c *Config) {
		w.configure(c)
		c.Provider = layeredProvider{fakeProvider{l.host, &fuse{}}, l.shelf}
	})
	w.make("one", nil)
	w.policies.with(func(p *fakePolicies) {
		p.admit = func(now Committed, want Want) Verdict {
			return Verdict{OK: now.ByUser[ada.UID].Boxes < 3, Wait: true, Why: "3 boxes at most"}
		}
	})
	f, err := w.ForkWith(t.Context(), ada, "one", forkbox.ForkSpec{Count: 4}, forkbox.Wish{Wait: &noWait}, forkbox.NetWish{})
	check(t, err)
	made := 0
	for _, c := range f.Children {
		if c.Box != nil {
			made++
		} else if c.Error.Code != forkbox.Busy {
			t.Errorf("got %+v", c.Error)
		}
	}
	if made != 2 {
		t.Errorf("%d children of 2", made)
	}
	_, err = w.ForkWith(t.Context(), ada, "one", forkbox.ForkSpec{}, forkbox.Wish{Wait: &noWait}, forkbox.NetWish{})
	wantCode(t, err, forkbox.Busy)
}

// A burst ends with boxes or with clear refusals, and never more run at once
// than may.
func TestBurstOf500(t *testing.T) {
	w := newGovernedWorld(newWorld(t, func(c *Config) { c.RestAfter = time.Millisecond }))
	const most = 8
	w.policies.with(func(p *fakePolicies) { p.admit, p.patience = places(most, 5), time.Minute })
	var wg sync.WaitGroup
	var ran, refused atomic.Int64
	for n := range 500 {
		wg.Go(func() {
			who := []forkbox.Owner{ada, bob}[n%2]
			wish := forkbox.Wish{Priority: []forkbox.Priority{"", forkbox.LowPriority}[rand.IntN(2)]}
			if n%10 == 0 {
				wish.Wait = &noWait
			}
			switch err := w.oneOfMany(who, fmt.Sprintf("box-%d", n), wish, most); {
			case err == nil:
				ran.Add(1)
			case forkbox.CodeOf(err) == forkbox.Busy:
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if ran.Load()+refused.Load() != 500 || ran.Load() < 450 {
		t.Errorf("%d ran, %d were refused", ran.Load(), refused.Load())
	}
	w.eventually("nothing is going on", func() bool { return !w.Busy() })
	check(t, w.disagreement())
}

// oneOfMany makes a box, runs something in it and stops it.
func (g *governedWorld) oneOfMany(who forkbox.Owner, name string, wish forkbox.Wish, most int) error {
	ctx := context.Background()
	b, err := g.Create(ctx, who, CreateSpec{Name: name, Wish: wish})
	if err != nil {
		return err
	}
	x, err := g.Exec(ctx, who, b.ID, withWish(wish), forkbox.Stdio{})
	if err != nil {
		return err
	}
	if n := len(g.host.all()); n > most {
		g.t.Errorf("%d run at once", n)
	}
	g.host.instance(b.ID).exit(x.ID, forkbox.Exit{Cause: forkbox.CauseExited})
	if _, err := g.Wait(ctx, who, b.ID, x.ID); err != nil {
		return err
	}
	_, err = g.Stop(ctx, who, b.ID, nil)
	return err
}

// TestNobodyWaitsForAPerson: where no box will ever make room, who did not ask to
// wait is refused at once, with what to do; also where others stand before them.
func TestNobodyWaitsForAPerson(t *testing.T) {
	w := newGovernedWorld(newWorld(t))
	full := Verdict{Wait: true, Stuck: true, Why: "the disk is full", Remedy: "free some"}
	w.policies.with(func(p *fakePolicies) {
		p.patience = time.Millisecond
		p.admit = func(Committed, Want) Verdict { return full }
	})
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			_, err := w.Create(t.Context(), ada, CreateSpec{})
			var e *forkbox.Error
			if !errors.As(err, &e) || e.Code != forkbox.Busy || e.Hints[0] != full.Remedy || !strings.HasSuffix(err.Error(), full.Why) {
				t.Errorf("it is refused so: %+v", err)
			}
		})
	}
	all.Wait()

	// Who asked to wait does.
	long := int64(24 * time.Hour)
	made := make(chan error, 1)
	go func() {
		_, err := w.Create(t.Context(), ada, CreateSpec{Wish: forkbox.Wish{Wait: &long, Ticket: "t"}})
		made <- err
	}()
	w.eventually("it waits", func() bool { _, ok := w.waits("t"); return ok })
	w.policies.with(func(p *fakePolicies) { p.admit = nil })
	check(t, <-made)
}
