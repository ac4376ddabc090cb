//go:build linux

package main

import (
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

// ticking is a box in which something ticks.
func (w *limitWorld) ticking(name string) (box string, ticks *task) {
	w.Helper()
	box = w.create(name, "").ID
	ticks = w.begin(box, "", "tick")
	ticks.hears("tick")
	return box, ticks
}

// TestLimitsPause has nothing run in a paused box, and all of it go on.
func TestLimitsPause(t *testing.T) {
	t.Parallel()
	w := newLimitWorld(t, calm)
	box, ticks := w.ticking("pausing")
	w.must("pause", "pausing")
	ticks.quiet()
	if b := w.box(box); b.Paused == "" || b.State != forkbox.Running {
		t.Errorf("it is %s, paused %q", b.State, b.Paused)
	}
	_, err := w.tryBegin(box, forkbox.Wish{}, "true")
	w.fails(err, forkbox.Busy, "paused", "forkbox resume")
	w.must("pause", "pausing") // again is fine
	w.must("resume", "pausing")
	ticks.hears("tick")
	if b := w.box(box); b.Paused != "" {
		t.Errorf("it goes on, and is paused: %q", b.Paused)
	}
	w.happened(box, forkbox.EventPaused, forkbox.EventResumed)
	w.does(box, "worker", "1")
}

// TestLimitsPausedStops stops and removes boxes that stand still.
func TestLimitsPausedStops(t *testing.T) {
	t.Parallel()
	w := newLimitWorld(t, calm)
	box, ticks := w.ticking("stopped")
	w.must("pause", "stopped")
	grace := time.Second
	_, err := w.Stop(t.Context(), box, &grace)
	w.ok(err)
	if done, _ := ticks.ends(); done.Exit.Cause != forkbox.CauseStopped {
		t.Errorf("it ended so: %+v", *done.Exit)
	}
	if b := w.box(box); b.Paused != "" || b.State != forkbox.Stopped {
		t.Errorf("it is %s, paused %q", b.State, b.Paused)
	}
	w.does(box, "worker", "1") // it wakes as ever

	removed, ticks := w.ticking("removed")
	w.must("pause", "removed")
	w.must("rm", "-f", "removed")
	ticks.Close()
	_, err = w.Box(t.Context(), removed)
	w.fails(err, forkbox.NotFound)
}

// TestLimitsPausedSurvives kills the daemon: what was paused stays so.
func TestLimitsPausedSurvives(t *testing.T) {
	t.Parallel()
	w := newLimitWorld(t, calm)
	box, ticks := w.ticking("kept")
	w.must("pause", "kept")
	ticks.quiet()
	w.restart()
	if b := w.box(box); b.Paused == "" {
		t.Error("the next daemon does not know that it is paused")
	}
	ticks.quiet()
	w.must("resume", "kept")
	ticks.hears("tick")
}

// TestPausedSnapshot saves a box that stands still, and leaves it so.
func TestPausedSnapshot(t *testing.T) {
	t.Parallel()
	w := newLimitWorld(t, calm)
	box, ticks := w.ticking("saved")
	w.must("pause", "saved")
	w.must("snapshot", "saved", "still")
	ticks.quiet()
	if b := w.box(box); b.Paused == "" {
		t.Error("saving let it go on")
	}
	w.must("resume", "saved")
	ticks.hears("tick")
}

// TestPausedTTL ends a box in time that stands still.
func TestPausedTTL(t *testing.T) {
	t.Parallel()
	w := newLimitWorld(t, calm)
	box, ticks := w.ticking("ended")
	w.must("pause", "ended")
	w.ok(w.set(box, "ttl=1s"))
	if done, _ := ticks.ends(); done.Exit.Cause != forkbox.CauseTTL {
		t.Errorf("it ended so: %+v", *done.Exit)
	}
}

// TestPauseAtRest says that there is nothing to pause.
func TestPauseAtRest(t *testing.T) {
	t.Parallel()
	w := newLimitWorld(t, calm)
	box := w.create("resting", "").ID
	_, err := w.Pause(t.Context(), box)
	w.fails(err, forkbox.Busy, "at rest")
	var events struct{ Events []forkbox.Event }
	w.reads(&events, "events", "resting")
	if len(events.Events) != 1 || events.Events[0].Kind != forkbox.EventBoxCreated {
		t.Errorf("something but its making happened to it: %+v", events.Events)
	}
}

// TestLimitsPausedExecEnds ends what stands still, by a signal and by its timeout.
// What stood still beside it still does.
func TestLimitsPausedExecEnds(t *testing.T) {
	t.Parallel()
	for name, way := range map[string]struct {
		limits string
		do     func(w *limitWorld, task *task)
		cause  forkbox.Cause
	}{
		"signal":  {"", func(w *limitWorld, task *task) { w.ok(task.Signal(t.Context(), 15)) }, forkbox.CauseSignalled},
		"timeout": {"timeout=2s", func(*limitWorld, *task) {}, forkbox.CauseTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newLimitWorld(t, calm)
			box, beside := w.ticking("paused")
			ended := w.begin(box, way.limits, "tick")
			ended.hears("tick")
			w.must("pause", "paused")
			way.do(w, ended)
			var done forkbox.Exec
			w.until("it ends", func() bool {
				var err error
				done, err = w.GetExec(t.Context(), box, ended.Info().ID)
				return err == nil && done.Exit != nil
			})
			if done.Exit.Cause != way.cause {
				t.Errorf("it ended so: %+v", *done.Exit)
			}
			if b := w.box(box); b.Paused == "" {
				t.Error("nobody knows that the box stands still")
			}
			beside.quiet()
		})
	}
}
