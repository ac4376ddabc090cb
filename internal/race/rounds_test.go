package race

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

// Who was measured more often when the deadline came does not win by that.
func TestDeadlineInMetrics(t *testing.T) {
	for ran, want := range map[int]struct {
		values int
		note   string
	}{1: {0, "it does not count"}, 3: {1, "one round of it counts"}, 5: {2, "2 rounds of it count"}} {
		w := newWorld(t, nil)
		n := 0
		w.host.scripts = map[string]script{"a": write("f", "5"), "b": write("f", "9"), "number": func(files map[string]string, _ int) (int, string) {
			if n++; n == ran {
				w.host.opened["number"] = make(chan struct{}) // it hangs from now on
			}
			return 0, files["f"]
		}}
		m := metric("number", forkbox.Extract{})
		m.Runs, m.Most = 3, 3
		rec := w.run(forkbox.RaceSpec{Approaches: approaches("a=a", "b=b"), Metrics: []forkbox.Metric{m}, Deadline: time.Second})
		for _, e := range rec.Entries {
			if got := e.Metrics[0]; len(got.Values) != want.values || (got.Why != "") != (want.values == 0) || e.Outcome != forkbox.OutcomePassed {
				t.Errorf("after %d runs: %s %s %+v", ran, e.Name, e.Outcome, got)
			}
		}
		if notes := strings.Join(rec.Notes, "\n"); !strings.Contains(notes, want.note) || rec.Winner != "a" {
			t.Errorf("after %d runs: %s wins, %q", ran, rec.Winner, notes)
		}
	}
}

func TestDeadlineSaysWhatWasNotDone(t *testing.T) {
	w := newWorld(t, nil)
	w.host.opened["test"] = make(chan struct{})
	rec := w.run(forkbox.RaceSpec{Approaches: approaches("a=hang", "b=true"), Checks: checks("test"), Deadline: 50 * time.Millisecond})
	for name, what := range map[string]string{"a": "steps", "b": "checks"} {
		if e := entryOf(t, rec, name); e.Outcome != forkbox.OutcomeTimedOut || e.Why != "the race's deadline came before its "+what+" had ended" {
			t.Errorf("%s: %s %s", name, e.Outcome, e.Why)
		}
	}
}

// A time is not taken from a run in which a daemon died, whichever of those that
// came after has seen its end.
func TestTimesInWhichADaemonDied(t *testing.T) {
	for _, ended := range []bool{false, true} {
		w := newWorld(t, nil)
		door := make(chan struct{})
		w.host.opened["bench"] = door
		rec, err := w.Start(context.Background(), ada, forkbox.RaceSpec{
			Name: "r", Approaches: approaches("a=true"),
			Metrics: []forkbox.Metric{{Command: forkbox.Command{Run: "bench"}, Time: true, Runs: 2, Most: 2}},
		})
		check(t, err)
		began := func() bool { w.host.mu.Lock(); defer w.host.mu.Unlock(); return count(w.host.log, "a: bench") == 1 }
		eventually(t, "it is measured", began)
		w.stop()
		since := time.Now()
		close(door)
		if ended {
			b, err := fakeBoxes{host: w.host}.find(ada, "r-a")
			check(t, err)
			b.execs[len(b.execs)-1].finish(forkbox.Exit{Cause: forkbox.CauseExited})
		}
		for range 2 { // the second one finds what the first did
			w.Races = New(Config{Boxes: fakeBoxes{w.host, nil}, Ledger: w.ledger, Since: since})
			check(t, w.Resume(context.Background()))
			rec = w.ended(rec.ID)
			if n := count(w.host.log, "a: bench"); n != 3 || len(rec.Entries[0].Metrics[0].Values) != 2 {
				t.Errorf("ended %v: %d runs, %+v", ended, n, rec.Entries[0].Metrics)
			}
			w.stop()
			rec.State = forkbox.RaceRunning
			check(t, w.ledger.UpdateRace(context.Background(), rec))
			since = time.Now()
		}
		if len(w.host.faults) > 0 {
			t.Error(w.host.faults)
		}
	}
}
