package engine

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

func TestPromise6FailedStartNeverDeletesData(t *testing.T) {
	w := newWorld(t)
	b := w.create("one")
	for _, step := range []string{"start", "watch"} {
		w.host.fail(step, errors.New("no more mounts"))
		_, err := w.Start(t.Context(), ada, "one")
		wantCode(t, err, forkbox.Internal)
		_, err = w.Exec(t.Context(), ada, "one", command("true"), forkbox.Stdio{})
		wantCode(t, err, forkbox.Internal)
		got, err := w.Box(t.Context(), ada, "one")
		check(t, err)
		if got.State != forkbox.Stopped || !strings.Contains(got.Note, "no more mounts") || w.host.removes != 0 {
			t.Errorf("%+v, and Remove was called %d times", got, w.host.removes)
		}
		check(t, w.disagreement())
		w.host.fail(step, nil)
	}
	got, err := w.Start(t.Context(), ada, "one")
	if err != nil || got.Note != "" || !got.Pinned || w.state(b.ID) != forkbox.Running {
		t.Errorf("then got %+v, %v", got, err)
	}
}

func TestStopUnpinsAndCanBeRepeated(t *testing.T) {
	w := newWorld(t)
	w.create("one")
	_, err := w.Start(t.Context(), ada, "one")
	check(t, err)
	for range 2 {
		b, err := w.Stop(t.Context(), ada, "one", nil)
		if err != nil || b.State != forkbox.Stopped || b.Pinned {
			t.Errorf("got %+v, %v", b, err)
		}
	}
	// The goroutine that tended it may look at it once more.
	w.eventually("not busy with a box at rest", func() bool { return !w.Busy() })
	check(t, w.disagreement())
}

func TestStopThatFailsLeavesTheBoxRunning(t *testing.T) {
	w := newWorld(t)
	w.create("one")
	x := w.exec("one")
	w.host.fail("stop", errors.New("it hangs"))
	_, err := w.Stop(t.Context(), ada, "one", nil)
	wantCode(t, err, forkbox.Internal)
	check(t, w.disagreement())
	w.host.fail("stop", nil)
	_, err = w.Stop(t.Context(), ada, "one", nil)
	check(t, err)
	if exit := w.wait(x); exit.Cause != forkbox.CauseStopped {
		t.Errorf("got %+v", exit)
	}
}

func TestRemoveOfABoxInUseNeedsForce(t *testing.T) {
	w := newWorld(t)
	b := w.create("one")
	w.exec("one")
	m := w.host.instance(b.ID)
	wantCode(t, w.Remove(t.Context(), ada, "one", false), forkbox.Busy)
	m.exit("1", forkbox.Exit{Cause: forkbox.CauseExited})
	m.setOthers(forkbox.Process{PID: 7})
	wantCode(t, w.Remove(t.Context(), ada, "one", false), forkbox.Busy)
	m.setOthers()
	check(t, w.Remove(t.Context(), ada, "one", false)) // runs, and does nothing

	w.create("two")
	w.exec("two")
	check(t, w.Remove(t.Context(), ada, "two", true))
	wantCode(t, w.Remove(t.Context(), ada, "two", true), forkbox.NotFound)
	check(t, w.disagreement())
	w.eventually("not busy with nothing", func() bool { return !w.Busy() })
}

func TestRemoveThatFailsCanBeRepeated(t *testing.T) {
	w := newWorld(t)
	b := w.create("one")
	w.host.fail("remove", errors.New("disk broken"))
	wantCode(t, w.Remove(t.Context(), ada, "one", false), forkbox.Internal)
	if w.state(b.ID) != forkbox.Removing {
		t.Errorf("it is %s", w.state(b.ID))
	}
	_, err := w.Start(t.Context(), ada, "one")
	wantCode(t, err, forkbox.Busy)
	w.host.fail("remove", nil)
	check(t, w.Remove(t.Context(), ada, "one", false))
	check(t, w.disagreement())
}

func (m *machine) setOthers(ps ...forkbox.Process) {
	m.host.mu.Lock()
	defer m.host.mu.Unlock()
	m.others = ps
}

func TestPromise7IdleBoxGoesToRest(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.RestAfter = time.Millisecond })
	pinned, busy, background, idle := w.create("pinned"), w.create("busy"), w.create("background"), w.create("idle")
	_, err := w.Start(t.Context(), ada, "pinned")
	check(t, err)
	w.exec("busy")
	w.exec("background")
	w.host.instance(background.ID).setOthers(forkbox.Process{PID: 7})
	w.host.instance(background.ID).exit("1", forkbox.Exit{Cause: forkbox.CauseExited})
	w.exec("idle")
	w.host.instance(idle.ID).exit("1", forkbox.Exit{Cause: forkbox.CauseExited})
	w.eventually("idle rests", func() bool { return w.state(idle.ID) == forkbox.Stopped })
	for _, b := range []forkbox.Box{pinned, busy, background} {
		if w.state(b.ID) != forkbox.Running {
			t.Errorf("%s went to rest", b.Name)
		}
	}
	w.host.instance(background.ID).setOthers()
	w.host.instance(busy.ID).exit("1", forkbox.Exit{Cause: forkbox.CauseExited})
	w.eventually("the others rest", func() bool {
		return w.state(background.ID) == forkbox.Stopped && w.state(busy.ID) == forkbox.Stopped
	})
	_, err = w.Stop(t.Context(), ada, "pinned", nil)
	check(t, err)
	w.eventually("nothing is going on", func() bool { return !w.Busy() })
	w.exec("idle") // and it wakes
}

func TestBoxThatDiesIsStoppedAndItsExecsLost(t *testing.T) {
	w := newWorld(t)
	b := w.create("one")
	x := w.exec("one")
	w.host.instance(b.ID).die(false)
	if exit := w.wait(x); exit.Cause != forkbox.CauseLost || exit.Code != 125 {
		t.Errorf("got %+v", exit)
	}
	w.eventually("it is stopped", func() bool { return w.state(b.ID) == forkbox.Stopped })
	got, err := w.Box(t.Context(), ada, "one")
	if err != nil || got.Note == "" {
		t.Errorf("its owner learns nothing: %+v, %v", got, err)
	}
	w.exec("one")
	check(t, w.disagreement())
}

func TestEverythingAtOnceOnOneBox(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.RestAfter = time.Millisecond })
	b := w.create("one")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 5 {
				if x, err := w.Exec(t.Context(), ada, "one", command("sleep"), forkbox.Stdio{}); err == nil {
					if m := w.host.instance(b.ID); m != nil {
						m.exit(x.ID, forkbox.Exit{Cause: forkbox.CauseExited})
					}
					w.wait(x)
				}
			}
		})
		wg.Go(func() {
			for range 5 {
				w.Start(t.Context(), ada, "one")
				w.Stop(t.Context(), ada, "one", nil)
			}
		})
	}
	wg.Wait()
	check(t, w.Remove(t.Context(), ada, "one", true))
	w.eventually("nothing is going on", func() bool { return !w.Busy() })
	check(t, w.disagreement())
}
