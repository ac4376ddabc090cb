package engine

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/forkbox/forkbox"
)

func TestWatchedDiskPausesTheBoxAtItsLimit(t *testing.T) {
	w := newGovernedWorld(newWorld(t))
	w.host.setHow(forkbox.Disk, forkbox.Watched)
	b := w.make("one", forkbox.Limits{forkbox.Disk: 5 << 30})
	x := w.exec("one")
	m := w.host.instance(b.ID)
	w.host.setUsed(b.ID, usage{bytes: 5<<30 - 1})
	w.exec("one")
	if m.isPaused() {
		t.Fatal("paused below its limit")
	}
	w.host.setUsed(b.ID, usage{bytes: 5 << 30})
	w.eventually("it is paused", func() bool { return w.box("one").Paused == "disk limit of 5g reached" && m.isPaused() })
	if w.count("one", forkbox.EventDisk) != 1 || w.count("one", forkbox.EventPaused) != 1 {
		t.Errorf("told of %v", w.events("one"))
	}
	_, err := w.Resume(t.Context(), ada, "one") // that does not help
	check(t, err)
	w.eventually("it is paused again", func() bool { return w.box("one").Paused != "" })
	_, err = w.Set(t.Context(), ada, "one", forkbox.Wish{Limits: forkbox.Limits{forkbox.Disk: 6 << 30}})
	check(t, err)
	_, err = w.Resume(t.Context(), ada, "one")
	check(t, err)
	w.exec("one")
	m.exit(x.ID, forkbox.Exit{Cause: forkbox.CauseExited})
	w.wait(x)
	if got := w.box("one"); got.Paused != "" || m.isPaused() {
		t.Errorf("with more disk it is paused: %+v", got)
	}
}

func TestEnforcedDiskIsNotWatched(t *testing.T) {
	w := newGovernedWorld(newWorld(t))
	b := w.make("one", forkbox.Limits{forkbox.Disk: 5 << 30})
	w.exec("one")
	w.host.setUsed(b.ID, usage{bytes: 9 << 30})
	for range 3 { // each time it is looked at
		_, err := w.Set(t.Context(), ada, "one", forkbox.Wish{Limits: forkbox.Limits{forkbox.Pids: 100}})
		check(t, err)
	}
	if w.box("one").Paused != "" {
		t.Error("the kernel holds it, and it was paused")
	}
}

func TestReserveIsSaved(t *testing.T) {
	w := newGovernedWorld(newWorld(t))
	var short atomic.Bool
	w.short = func() (bool, string) { return short.Load(), "1g of 20g left" }
	w.again()
	writer, quiet, mine := w.make("writer", nil), w.make("quiet", nil), w.make("mine", nil)
	for _, name := range []string{"writer", "quiet", "mine"} {
		w.exec(name)
	}
	_, err := w.Pause(t.Context(), ada, "mine")
	check(t, err)
	var written int64
	write := func() {
		written += 1 << 20
		w.host.instance(writer.ID).with(func(m *machine) { m.stats.IO.WriteBytes = written })
	}
	write()
	short.Store(true)
	w.eventually("who writes is paused", func() bool {
		write()
		return strings.Contains(w.box("writer").Paused, "1g of 20g left") && w.host.instance(writer.ID).isPaused()
	})
	w.eventually("and at last everybody", func() bool { return w.box("quiet").Paused != "" })
	if w.count("writer", forkbox.EventReserve) != 1 {
		t.Errorf("told of %v", w.events("writer"))
	}
	w.again() // they stay paused
	if w.box("writer").Paused == "" {
		t.Error("a restart let it go on")
	}
	short.Store(false)
	w.eventually("they go on", func() bool { return w.box("writer").Paused == "" && w.box("quiet").Paused == "" })
	if w.box("mine").Paused == "" || !w.host.instance(mine.ID).isPaused() || w.host.instance(quiet.ID).isPaused() {
		t.Error("what its owner paused went on, or what did not have to stand still does")
	}
}
