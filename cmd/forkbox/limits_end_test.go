//go:build linux

package main

import (
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

// mark is an argument by which a test finds its own processes.
func mark(t *testing.T) string { return "mark-" + strings.ReplaceAll(t.Name(), "/", "-") }

// noneLeft finds no process with the test's mark on the host, nor in its box.
func (w *limitWorld) noneLeft(box string) {
	w.Helper()
	w.until("no process is left", func() bool { return len(processesWith(mark(w.T), w.self)) == 0 })
	all, err := w.Processes(w.Context(), box)
	for _, p := range all {
		if err == nil && strings.Contains(strings.Join(p.Command, " "), mark(w.T)) {
			w.Errorf("ps still shows %+v", p)
		}
	}
}

// ignorant starts what does not want to end, all of it.
func (w *limitWorld) ignorant(box, text string) *task {
	w.Helper()
	task := w.begin(box, text, "ignore-term", mark(w.T))
	w.until("both of it run", func() bool { return len(processesWith(mark(w.T), w.self)) >= 2 })
	return task
}

// TestLimitsTimeoutForced ends what ignores TERM, has left its session and its
// parent, and cleared its environment.
func TestLimitsTimeoutForced(t *testing.T) {
	t.Parallel()
	w := newLimitWorld(t, calm)
	box := w.create("deaf", "").ID
	done, _ := w.ignorant(box, "timeout=2s").ends()
	if e := done.Exit; e.Cause != forkbox.CauseTimeout || !e.Forced || e.Code != 124 {
		t.Errorf("it ended so: %+v", *e)
	}
	w.noneLeft(box)
	w.survives(box)
	w.happened(box, forkbox.EventTimedOut)
}

// TestTimeoutPolite ends what listens to TERM without force, by a timeout of
// the exec and by one of its box.
func TestTimeoutPolite(t *testing.T) {
	t.Parallel()
	w := newLimitWorld(t, calm)
	box := w.create("box-timeout", "timeout=300ms").ID
	for _, text := range []string{"", "timeout=100ms"} {
		task, err := w.tryBegin(box, forkbox.Wish{Limits: limits(t, text)}, "sleep", "100")
		w.ok(err)
		done, _ := task.ends()
		if e := done.Exit; e.Cause != forkbox.CauseTimeout || e.Forced || e.Code != 124 {
			t.Errorf("%q: it ended so: %+v", text, *e)
		}
	}
	_, err := w.tryBegin(box, forkbox.Wish{Limits: limits(t, "timeout=10m")}, "true")
	w.fails(err, forkbox.Denied, "300ms")
}

// TestLimitsStopForced stops a box in which nothing wants to end.
func TestLimitsStopForced(t *testing.T) {
	t.Parallel()
	w := newLimitWorld(t, calm)
	box := w.create("deaf", "").ID
	task := w.ignorant(box, "")
	grace := 200 * time.Millisecond
	stopped, err := w.Stop(t.Context(), box, &grace)
	w.ok(err)
	done, _ := task.ends()
	if e := done.Exit; e.Cause != forkbox.CauseStopped || !e.Forced || !strings.HasPrefix(e.By, "user ") {
		t.Errorf("it ended so: %+v", *e)
	}
	if stopped.State != forkbox.Stopped || stopped.Death != nil {
		t.Errorf("the box is %s, death %+v", stopped.State, stopped.Death)
	}
	w.noneLeft(box)
}

// TestLimitsKilled says who sent a signal, and kills a tree that is deaf.
func TestLimitsKilled(t *testing.T) {
	t.Parallel()
	w := newLimitWorld(t, calm)
	box := w.create("deaf", "").ID
	task := w.ignorant(box, "")
	w.ok(w.Kill(t.Context(), box, task.Info().ID, 100*time.Millisecond))
	done, _ := task.ends()
	if e := done.Exit; e.Cause != forkbox.CauseStopped || !e.Forced || !strings.HasPrefix(e.By, "user ") {
		t.Errorf("it ended so: %+v", *e)
	}
	w.noneLeft(box)

	task = w.begin(box, "", "wait-for-ever")
	task.hears("here")
	w.ok(w.Signal(t.Context(), box, task.Info().ID, 15))
	done, _ = task.ends()
	if e := done.Exit; e.Cause != forkbox.CauseSignalled || e.Signal != "SIGTERM" || !strings.HasPrefix(e.By, "user ") {
		t.Errorf("it ended so: %+v", *e)
	}
}

// happened finds events of a box, and returns them.
func (w *limitWorld) happened(box string, kinds ...forkbox.EventKind) {
	w.Helper()
	var all []forkbox.Event
	for _, kind := range kinds {
		w.until("the event "+string(kind), func() bool {
			all = w.events(box)
			for _, e := range all {
				if e.Kind == kind && e.Text != "" && e.Box == box {
					return true
				}
			}
			return false
		})
	}
}
