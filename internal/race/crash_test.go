package race

import (
	"context"
	"fmt"
	"testing"

	"github.com/forkbox/forkbox"
)

// crashWorld is a race with something of everything: a setup, a step that fails
// the first time, flaky checks, numbers from output and from a file.
func crashWorld(t *testing.T) (*world, forkbox.RaceSpec) {
	failing := map[string]bool{}
	scripts := map[string]script{
		"setup": write("base", "there"), "good": write("f", "good"), "better": write("f", "good "), "bad": write("f", "bad"),
		"unlucky": func(files map[string]string, _ int) (int, string) {
			// The first box in which it is run is out of luck, for ever.
			if failing[files["box"]] || len(failing) == 0 {
				failing[files["box"]] = true
				return 1, ""
			}
			return 0, ""
		},
		"test": func(files map[string]string, n int) (int, string) {
			files["coverage"] = "c"
			if files["base"] != "there" || files["f"] == "bad" {
				return 1, ""
			}
			return 0, ""
		},
		"score":  prints("score: 50\n"),
		"number": func(files map[string]string, _ int) (int, string) { return 0, fmt.Sprint(len(files["f"])) },
		"make":   write("out", "7"),
	}
	w := newWorld(t, scripts)
	spec := forkbox.RaceSpec{
		Name: "r", Setup: []forkbox.Command{{Run: "setup"}}, Retries: 1, Seed: 3,
		Approaches: approaches("a=bad", "b=unlucky;better", "c=good"),
		Checks:     checks("test", "score"),
		Metrics: []forkbox.Metric{
			{Command: forkbox.Command{Name: "n", Run: "number"}, Runs: 2, Most: 2},
			{Command: forkbox.Command{Name: "m", Run: "make"}, Extract: forkbox.Extract{File: "out"}},
		},
	}
	spec.Checks[1].Must, spec.Checks[1].Score = false, &forkbox.Extract{Pattern: `score: (\d+)`}
	spec.Checks[1].Of = 100
	return w, spec
}

const crashResult = `finished winner="c"
1 c passed attempt=1
2 b passed attempt=2
3 a failed attempt=1`

// TestPromiseARaceSurvivesADeadDaemon: whichever call is the last of a daemon,
// the next one comes to the same result; no approach ever has two boxes, and
// nothing is run twice in one.
func TestPromiseARaceSurvivesADeadDaemon(t *testing.T) {
	w, spec := crashWorld(t)
	if rec := w.run(spec); summary(rec) != crashResult {
		t.Fatalf("undisturbed:\n%s\n%+v", summary(rec), rec.Entries)
	}
	for _, c := range []struct {
		name          string
		after, reboot bool
	}{{"before", false, false}, {"after", true, false}, {"reboot", true, true}} {
		t.Run(c.name, func(t *testing.T) {
			for at := 1; ; at++ {
				if whole := dieAt(t, at, c.after, c.reboot); whole {
					break
				}
			}
		})
	}
}

// dieAt has a daemon die at its n-th call, and another go on. It says whether
// the first one got to the end.
func dieAt(t *testing.T, at int, after, reboot bool) (whole bool) {
	w, spec := crashWorld(t)
	f := newFuse(at, after)
	w.restart(f)
	rec, err := w.Start(context.Background(), ada, spec)
	if err == nil {
		w.diesOrEnds(rec.ID, f)
	}
	whole = !f.isBlown()
	w.restart(nil)
	if reboot {
		w.host.reboot()
	}
	check(t, w.Resume(context.Background()))
	list, err := w.List(context.Background(), ada)
	check(t, err)
	if len(list) == 0 {
		return whole // it died before the race was recorded
	}
	rec = w.ended(list[0].ID)
	if got := summary(rec); got != crashResult {
		t.Fatalf("call %d:\n%s\n%s\n%v\n%+v", at, got, rec.Why, w.host.log, rec.Entries)
	}
	if len(w.host.faults) > 0 {
		t.Fatalf("call %d: %v", at, w.host.faults)
	}
	w.leavesNothing(at, rec)
	return whole
}

// diesOrEnds waits until a race has ended, or its daemon has died.
func (w *world) diesOrEnds(id string, f *fuse) {
	over := make(chan struct{})
	if live := w.running(id); live != nil {
		over = live.over
	} else {
		close(over)
	}
	select {
	case <-over:
	case <-f.blown:
	}
}

// leavesNothing looks for what checks left, and for what is left after rm.
func (w *world) leavesNothing(at int, rec forkbox.Race) {
	w.t.Helper()
	w.host.mu.Lock()
	for _, b := range w.host.boxes {
		if b.files["coverage"] != "" {
			w.t.Fatalf("call %d: %s has what a check wrote", at, b.Name)
		}
	}
	w.host.mu.Unlock()
	check(w.t, w.Remove(context.Background(), ada, rec.ID, true))
	check(w.t, w.Races.Close(context.Background()))
	if n := len(w.host.boxes); n > 0 {
		w.t.Fatalf("call %d: %d boxes are left", at, n)
	}
	if boxes, err := w.ledger.Boxes(context.Background(), nil); err != nil || len(boxes) > 0 {
		w.t.Fatalf("call %d: %d boxes are recorded, %v", at, len(boxes), err)
	}
}

// A race that was being cancelled is not gone on with.
func TestPromiseACancelledRaceStaysCancelled(t *testing.T) {
	for at := 1; ; at++ {
		w := newWorld(t, map[string]script{"test": exits(0)})
		f := newFuse(0, false)
		w.restart(f)
		rec, err := w.Start(context.Background(), ada, forkbox.RaceSpec{Name: "r", Approaches: approaches("a=hang", "b=hang", "c=true"), Checks: checks("test")})
		check(t, err)
		live := w.running(rec.ID)
		eventually(t, "two run, one is done", func() bool {
			return entryOf(t, live.record(), "c").Outcome != "" && live.busyNow() == 2
		})
		f.arm(at)
		_, err = w.Cancel(context.Background(), ada, rec.ID)
		whole := err == nil && !f.isBlown()
		w.restart(nil)
		check(t, w.Resume(context.Background()))
		now, err := w.find(context.Background(), ada, rec.ID)
		check(t, err)
		if now.State == forkbox.RaceRunning && now.Why != cancelling {
			// It died before a client could know. The client cancels again.
			_, err = w.Cancel(context.Background(), ada, rec.ID)
			check(t, err)
		}
		if rec = w.ended(rec.ID); rec.State != forkbox.RaceCancelled {
			t.Fatalf("call %d: %s", at, summary(rec))
		}
		eventually(t, "nothing is done any more", func() bool { return !w.Busy() })
		w.host.allStill(t)
		if whole {
			return
		}
	}
}

func (r *race) busyNow() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.present)
}
