package engine

import (
	"errors"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
	"github.com/forkbox/forkbox/internal/engine/core"
)

func TestPauseAndResume(t *testing.T) {
	w := newGovernedWorld(newWorld(t))
	b := w.make("one", nil)
	_, err := w.Pause(t.Context(), ada, "one")
	wantCode(t, err, forkbox.Busy) // at rest
	w.exec("one")
	m := w.host.instance(b.ID)
	for range 2 {
		got, err := w.Pause(t.Context(), ada, "one")
		if err != nil || got.Paused == "" || !m.isPaused() {
			t.Fatalf("got %+v, %v; stands still: %v", got, err, m.isPaused())
		}
	}
	_, err = w.Exec(t.Context(), ada, "one", command("true"), forkbox.Stdio{})
	wantCode(t, err, forkbox.Busy)
	m.with(func(m *machine) { m.paused = false }) // as if the host had forgotten
	w.again()
	if !m.isPaused() || w.box("one").Paused == "" {
		t.Error("a restart let it go on")
	}
	for range 2 {
		got, err := w.Resume(t.Context(), ada, "one")
		if err != nil || got.Paused != "" || m.isPaused() {
			t.Fatalf("got %+v, %v; stands still: %v", got, err, m.isPaused())
		}
	}
	w.exec("one")
	if n := w.count("one", forkbox.EventPaused) + w.count("one", forkbox.EventResumed); n != 2 {
		t.Errorf("told of %v", w.events("one"))
	}
	m.with(func(m *machine) { m.paused = true }) // a daemon died half-way
	w.again()
	if m.isPaused() {
		t.Error("it stands still, and nobody knows why")
	}
}

func TestPauseThatFailsChangesNothing(t *testing.T) {
	w := newGovernedWorld(newWorld(t))
	w.make("one", nil)
	w.exec("one")
	w.host.fail("pause", errors.New("no freezer"))
	_, err := w.Pause(t.Context(), ada, "one")
	wantCode(t, err, forkbox.Internal)
	if w.box("one").Paused != "" {
		t.Error("it says that it is paused")
	}
	w.exec("one")
}

func TestPausedBoxCanBeStoppedAndRemovedAndEnds(t *testing.T) {
	w := newGovernedWorld(newWorld(t))
	pause := func(name string, l forkbox.Limits) forkbox.Box {
		b := w.make(name, l)
		w.exec(name)
		_, err := w.Pause(t.Context(), ada, name)
		check(t, err)
		return b
	}
	pause("one", nil)
	got, err := w.Stop(t.Context(), ada, "one", nil)
	if err != nil || got.State != forkbox.Stopped || got.Paused != "" {
		t.Errorf("got %+v, %v", got, err)
	}
	w.exec("one") // it runs, and is not paused
	pause("two", nil)
	check(t, w.Remove(t.Context(), ada, "two", true))
	three := pause("three", hours(1))
	w.clock.pass(2 * time.Hour)
	w.eventually("it ends", func() bool { return w.state(three.ID) == forkbox.Stopped })
	if w.box("three").Paused != "" {
		t.Error("one at rest is paused")
	}
	check(t, w.disagreement())
}

// A signal, a kill, a caller who is gone and a timeout end an exec also where it
// stands still. The box stands still afterwards as before.
func TestPausedExecEnds(t *testing.T) {
	ways := map[string]struct {
		do    func(w *governedWorld, id string) error
		cause forkbox.Cause
		by    string
		code  int
	}{
		"signal":  {func(w *governedWorld, id string) error { return w.Signal(t.Context(), ada, "one", id, 15) }, forkbox.CauseSignalled, "user ada", 143},
		"kill":    {func(w *governedWorld, id string) error { return w.Kill(t.Context(), ada, "one", id, time.Hour) }, forkbox.CauseStopped, "user ada", 143},
		"abandon": {func(w *governedWorld, id string) error { return w.Abandon(t.Context(), ada, "one", id) }, forkbox.CauseStopped, core.ByForkbox, 143},
		"timeout": {func(w *governedWorld, id string) error { return nil }, forkbox.CauseTimeout, core.ByForkbox, 124},
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			w := newGovernedWorld(newWorld(t))
			b := w.make("one", nil)
			w.exec("one") // stands beside it
			req := command("sleep", "1000")
			if name == "timeout" {
				req.Timeout = time.Millisecond
			}
			x, err := w.Exec(t.Context(), ada, "one", req, forkbox.Stdio{})
			check(t, err)
			_, err = w.Pause(t.Context(), ada, "one")
			check(t, err)
			check(t, way.do(w, x.ID))
			w.eventually("it ends", func() bool {
				x, err = w.GetExec(t.Context(), ada, "one", x.ID)
				return err == nil && x.Exit != nil
			})
			if x.Exit.Cause != way.cause || x.Exit.By != way.by || x.Exit.Code != way.code {
				t.Errorf("it ended so: %+v", *x.Exit)
			}
			w.eventually("it stands still again", func() bool { return w.host.instance(b.ID).isPaused() })
			if w.box("one").Paused == "" {
				t.Error("nobody knows that it stands still")
			}
		})
	}
}

func TestPausedBoxDoesNotRestAndCanBeSaved(t *testing.T) {
	l := newLayeredWorld(t, true)
	l.world.restart(&fuse{}, func(c *Config) {
		c.RestAfter = time.Millisecond
		c.Provider = layeredProvider{fakeProvider{l.host, &fuse{}}, l.shelf}
	})
	b := l.create("one")
	x := l.exec("one")
	_, err := l.Pause(t.Context(), ada, "one")
	check(t, err)
	m := l.host.instance(b.ID)
	m.exit(x.ID, forkbox.Exit{Cause: forkbox.CauseExited})
	l.wait(x)
	m.with(func(m *machine) { m.paused = false }) // as the copying does
	_, err = l.Snapshot(t.Context(), ada, "one", forkbox.SnapshotSpec{})
	check(t, err)
	if l.state(b.ID) != forkbox.Running || !m.isPaused() {
		t.Errorf("it is %s; stands still: %v", l.state(b.ID), m.isPaused())
	}
}
