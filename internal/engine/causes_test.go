package engine

import (
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

func TestExitSaysWhoDidIt(t *testing.T) {
	w := newGovernedWorld(newWorld(t))
	w.make("one", nil)
	signalled, killed, stopped := w.exec("one"), w.exec("one"), w.exec("one")
	check(t, w.Signal(t.Context(), ada, "one", signalled.ID, 15))
	check(t, w.Kill(t.Context(), ada, "one", killed.ID, 0))
	_, err := w.Stop(t.Context(), ada, "one", nil)
	check(t, err)
	for _, x := range []forkbox.Exec{signalled, killed, stopped} {
		if exit := w.wait(x); exit.By != "user ada" {
			t.Errorf("exec %s: %+v", x.ID, exit)
		}
	}
}

// TestExitOfWhatEndedJustBeforeItsBox: what exits while its box is killed has done
// so by itself, unless it was asked to first.
func TestExitOfWhatEndedJustBeforeItsBox(t *testing.T) {
	now, soon := time.Duration(0), time.Second
	for name, c := range map[string]struct {
		end  func(w *world) error
		want forkbox.Cause
	}{
		"removed":         {func(w *world) error { return w.Remove(t.Context(), ada, "one", true) }, forkbox.CauseExited},
		"stopped at once": {func(w *world) error { _, err := w.Stop(t.Context(), ada, "one", &now); return err }, forkbox.CauseExited},
		"asked to end":    {func(w *world) error { _, err := w.Stop(t.Context(), ada, "one", &soon); return err }, forkbox.CauseStopped},
	} {
		w := newWorld(t)
		w.create("one")
		x := w.exec("one")
		var got forkbox.Exec
		w.host.onStop = func(m *machine) {
			m.exit(x.ID, forkbox.Exit{Code: 7, Cause: forkbox.CauseExited})
			var err error
			got, err = w.ledger.Exec(t.Context(), x.Box, x.ID) // it goes with the box
			check(t, err)
		}
		check(t, c.end(w))
		if exit := got.Exit; exit == nil || exit.Code != 7 || exit.Cause != c.want {
			t.Errorf("%s: %+v, want %s", name, exit, c.want)
		}
	}
}

func TestLimitsThatEndExecsAreTold(t *testing.T) {
	w := newGovernedWorld(newWorld(t))
	b := w.make("one", nil)
	for cause, kind := range map[forkbox.Cause]forkbox.EventKind{
		forkbox.CauseOOM: forkbox.EventOOM, forkbox.CausePids: forkbox.EventPids, forkbox.CauseTimeout: forkbox.EventTimedOut,
	} {
		x := w.exec("one")
		w.host.instance(b.ID).exit(x.ID, forkbox.Exit{Code: 137, Cause: cause, Limit: 64 << 20, Peak: 64 << 20})
		if exit := w.wait(x); exit.Cause != cause || exit.Limit != 64<<20 {
			t.Errorf("got %+v", exit)
		}
		if w.count("one", kind) != 1 {
			t.Errorf("%s: told of %v", cause, w.events("one"))
		}
	}
}

func TestDiskIsBlamedWhereThereIsNoneLeft(t *testing.T) {
	w := newGovernedWorld(newWorld(t))
	const limit = 1 << 30
	for _, c := range []struct {
		name   string
		limits forkbox.Limits
		used   usage
		code   int
		want   forkbox.Cause
	}{
		{"full", forkbox.Limits{forkbox.Disk: limit}, usage{bytes: limit - limit/200}, 1, forkbox.CauseDisk},
		{"room", forkbox.Limits{forkbox.Disk: limit}, usage{bytes: limit / 2}, 1, forkbox.CauseExited},
		{"fine", forkbox.Limits{forkbox.Disk: limit}, usage{bytes: limit}, 0, forkbox.CauseExited},
		{"inodes", forkbox.Limits{forkbox.Inodes: 1000}, usage{inodes: 1000}, 1, forkbox.CauseDisk},
		{"none", nil, usage{bytes: limit, inodes: 1000}, 1, forkbox.CauseExited},
	} {
		b := w.make(c.name, c.limits)
		x := w.exec(c.name)
		w.host.setUsed(b.ID, c.used)
		w.host.instance(b.ID).exit(x.ID, forkbox.Exit{Code: c.code, Cause: forkbox.CauseExited})
		exit := w.wait(x)
		if exit.Cause != c.want || exit.Code != c.code {
			t.Errorf("%s: %+v", c.name, exit)
		}
		if c.want == forkbox.CauseDisk && (exit.Limit == 0 || exit.Peak == 0 || !w.happened(c.name, forkbox.EventDisk)) {
			t.Errorf("%s: %+v, told of %v", c.name, exit, w.events(c.name))
		}
	}
}

func TestBoxThatDiesSaysOfWhat(t *testing.T) {
	w := newGovernedWorld(newWorld(t))
	b := w.make("one", nil)
	x := w.exec("one")
	m := w.host.instance(b.ID)
	m.with(func(m *machine) {
		m.words = &forkbox.Exit{Code: 137, Cause: forkbox.CauseOOM, Limit: 1 << 30, Peak: 1 << 30, Why: "memory limit of 1g"}
	})
	m.die(false)
	if exit := w.wait(x); exit.Cause != forkbox.CauseOOM {
		t.Errorf("its exec: %+v", exit)
	}
	w.eventually("it is stopped", func() bool { return w.state(b.ID) == forkbox.Stopped })
	if got := w.box("one"); got.Death == nil || got.Death.Cause != forkbox.CauseOOM {
		t.Errorf("got %+v", got)
	}
}
