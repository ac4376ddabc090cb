package engine

import (
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
)

func hours(n int64) forkbox.Limits { return forkbox.Limits{forkbox.TTL: n * int64(time.Hour)} }

func (g *governedWorld) count(ref string, kind forkbox.EventKind) (n int) {
	for _, k := range g.events(ref) {
		if k == kind {
			n++
		}
	}
	return n
}

func TestTTLEndsTheBoxAndKeepsItsData(t *testing.T) {
	w := newGovernedWorld(newWorld(t))
	b := w.make("one", hours(2))
	x := w.exec("one")
	_, err := w.Start(t.Context(), ada, "one")
	check(t, err)
	w.clock.pass(105 * time.Minute)
	w.clock.pass(4 * time.Minute) // 11 minutes are left: less than a tenth
	w.eventually("it is warned", func() bool { return w.happened("one", forkbox.EventTTLSoon) })
	if w.state(b.ID) != forkbox.Running {
		t.Fatal("it ended with the warning")
	}
	w.clock.pass(11 * time.Minute)
	w.eventually("it ends", func() bool { return w.happened("one", forkbox.EventTTL) })
	if exit := w.wait(x); exit.Cause != forkbox.CauseTTL || exit.By != "forkbox" {
		t.Errorf("its exec ended with %+v", exit)
	}
	got := w.box("one")
	if got.State != forkbox.Stopped || got.Death == nil || got.Death.Cause != forkbox.CauseTTL || got.Pinned {
		t.Errorf("got %+v", got)
	}
	check(t, w.disagreement())
	_, err = w.Start(t.Context(), ada, "one")
	wantCode(t, err, forkbox.Busy)
	_, err = w.Exec(t.Context(), ada, "one", command("true"), forkbox.Stdio{})
	wantCode(t, err, forkbox.Busy)

	got, err = w.Extend(t.Context(), ada, "one", time.Hour)
	if err != nil || w.clock.read().Left(*got.Ends) != time.Hour || got.Warned {
		t.Errorf("extended: %+v, %v", got, err)
	}
	w.exec("one")
	if w.box("one").Death != nil {
		t.Error("a death that is over is shown")
	}
	if n := w.count("one", forkbox.EventTTLSoon); n != 1 {
		t.Errorf("warned %d times", n)
	}
}

// Clocks go on over a restart of the daemon, and the warning comes once.
func TestTTLSurvivesRestarts(t *testing.T) {
	w := newGovernedWorld(newWorld(t))
	b := w.make("one", hours(1))
	w.exec("one")
	w.clock.pass(55 * time.Minute)
	w.eventually("it is warned", func() bool { return w.happened("one", forkbox.EventTTLSoon) })
	for range 3 {
		w.again()
		w.clock.change(func(i *core.Instant) { i.Time = i.Time.Add(100 * time.Hour) }) // a user set it
	}
	w.eventually("that is noticed", func() bool { return w.happened("one", forkbox.EventTimeJumps) })
	w.eventually("its end is told by the new time", func() bool {
		return w.box("one").Ends.Time.Sub(w.clock.read().Time) == 5*time.Minute
	})
	if w.state(b.ID) != forkbox.Running {
		t.Fatal("a clock that was set ended it")
	}
	check(t, w.Close(t.Context()))
	w.clock.pass(6 * time.Minute) // while no daemon runs
	w.again()
	w.eventually("it ends", func() bool { return w.state(b.ID) == forkbox.Stopped })
	if n := w.count("one", forkbox.EventTTLSoon); n != 1 {
		t.Errorf("warned %d times", n)
	}
}

func TestExtend(t *testing.T) {
	w := newGovernedWorld(newWorld(t))
	w.make("endless", nil)
	_, err := w.Extend(t.Context(), ada, "endless", time.Hour)
	wantCode(t, err, forkbox.Invalid)
	w.policies.with(func(p *fakePolicies) { p.floor = hours(4) })
	w.make("one", hours(2))
	_, err = w.Extend(t.Context(), ada, "one", 0)
	wantCode(t, err, forkbox.Invalid)
	w.clock.pass(time.Hour)
	got, err := w.Extend(t.Context(), ada, "one", time.Hour)
	if err != nil || w.clock.read().Left(*got.Ends) != 2*time.Hour {
		t.Errorf("got %+v, %v", got.Ends, err)
	}
	_, err = w.Extend(t.Context(), ada, "one", 2*time.Hour) // 5 in all
	wantCode(t, err, forkbox.Denied)
	_, err = w.Set(t.Context(), ada, "one", forkbox.Wish{Limits: hours(4)}) // from now on
	wantCode(t, err, forkbox.Denied)
	got, err = w.Set(t.Context(), ada, "one", forkbox.Wish{Limits: hours(3)})
	if err != nil || w.clock.read().Left(*got.Ends) != 3*time.Hour {
		t.Errorf("got %+v, %v", got.Ends, err)
	}
}

func TestExtendedWhileItRuns(t *testing.T) {
	w := newGovernedWorld(newWorld(t))
	b := w.make("one", hours(1))
	w.exec("one")
	_, err := w.Extend(t.Context(), ada, "one", time.Hour)
	check(t, err)
	w.clock.pass(90 * time.Minute)
	_, err = w.Set(t.Context(), ada, "one", forkbox.Wish{Limits: forkbox.Limits{forkbox.TTL: forkbox.Unlimited}})
	check(t, err)
	w.clock.pass(90 * time.Hour)
	w.exec("one")
	if w.state(b.ID) != forkbox.Running || w.box("one").Ends != nil {
		t.Error("it ended")
	}
}

func TestIdleLimit(t *testing.T) {
	w := newGovernedWorld(newWorld(t))
	b := w.make("one", forkbox.Limits{forkbox.Idle: int64(10 * time.Minute)})
	x := w.exec("one")
	_, err := w.Start(t.Context(), ada, "one") // pinned: that does not help it
	check(t, err)
	m := w.host.instance(b.ID)
	m.setOthers(forkbox.Process{PID: 7}) // nor does what was left behind
	w.clock.pass(time.Hour)              // its exec runs
	m.exit(x.ID, forkbox.Exit{Cause: forkbox.CauseExited})
	w.wait(x)
	w.clock.pass(9 * time.Minute)
	y := w.exec("one") // in time
	m.exit(y.ID, forkbox.Exit{Cause: forkbox.CauseExited})
	w.wait(y)
	if w.state(b.ID) != forkbox.Running {
		t.Fatal("it ended too soon")
	}
	w.clock.pass(5 * time.Minute)
	w.again() // the clock goes on
	w.clock.pass(5 * time.Minute)
	w.eventually("it is stopped", func() bool { return w.happened("one", forkbox.EventIdle) })
	if got := w.box("one"); got.State != forkbox.Stopped || got.Death == nil || got.Death.Cause != forkbox.CauseIdle {
		t.Errorf("got %+v", got)
	}
	w.exec("one") // it may run again
}

func TestHostThatWasRestarted(t *testing.T) {
	w := newGovernedWorld(newWorld(t))
	b := w.make("one", hours(5))
	x := w.exec("one")
	check(t, w.Close(t.Context()))
	w.host.instance(b.ID).die(false)
	w.clock.change(func(i *core.Instant) { *i = core.Instant{Time: i.Time.Add(time.Hour), Boot: "b2", Since: time.Minute} })
	w.again()
	if exit := w.wait(x); exit.Cause != forkbox.CauseShutdown || exit.Why == "" {
		t.Errorf("its exec ended with %+v", exit)
	}
	got := w.box("one")
	if got.Death == nil || got.Death.Cause != forkbox.CauseShutdown || w.clock.read().Left(*got.Ends) != 4*time.Hour {
		t.Errorf("got %+v", got)
	}
	w.exec("one")
	w.clock.change(func(i *core.Instant) { i.Time = day.Add(-time.Hour) }) // set back, in this run of the host
	if left := w.clock.read().Left(*w.box("one").Ends); left != 4*time.Hour {
		t.Errorf("%s are left", left)
	}
}

// However far away its end is, a box is looked at each tick: no timer goes on
// while the host sleeps.
func TestClocksAreLookedAtEachTick(t *testing.T) {
	w := newGovernedWorld(newWorld(t))
	b := w.make("one", hours(1000))
	w.exec("one")
	h := w.core.HandleOf(b.ID)
	if next := w.WatchClocks(h, h.Current()); next > time.Millisecond {
		t.Errorf("it is looked at again in %s", next)
	}
	b = w.make("endless", nil)
	w.exec("endless")
	h = w.core.HandleOf(b.ID)
	if next := w.WatchClocks(h, h.Current()); next != core.Never {
		t.Errorf("one without an end is looked at in %s", next)
	}
}
