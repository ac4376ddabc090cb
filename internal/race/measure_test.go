package race

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

func metric(run string, find forkbox.Extract) forkbox.Metric {
	return forkbox.Metric{Command: forkbox.Command{Name: "m", Run: run}, Extract: find}
}

func TestNumbers(t *testing.T) {
	w := newWorld(t, map[string]script{
		"slow": write("f", "30"), "fast": write("f", "4"),
		"bench": func(files map[string]string, _ int) (int, string) {
			return 0, fmt.Sprintf("ran\nmean: %s ms\n{\"mean\": %s}\n", files["f"], files["f"])
		},
		"alone": func(files map[string]string, _ int) (int, string) { return 0, " " + files["f"] + "\n" },
		"make":  func(files map[string]string, _ int) (int, string) { files["out"] = files["f"]; return 0, "" },
	})
	for name, m := range map[string]forkbox.Metric{
		"pattern": metric("bench", forkbox.Extract{Pattern: `mean: (\d+)`}),
		"text":    metric("alone", forkbox.Extract{}),
		"file":    metric("make", forkbox.Extract{File: "out"}),
		"alone":   metric("", forkbox.Extract{File: "f"}),
	} {
		rec := w.run(forkbox.RaceSpec{Approaches: approaches("a=slow", "b=fast"), Metrics: []forkbox.Metric{m}})
		a, b := entryOf(t, rec, "a"), entryOf(t, rec, "b")
		if rec.Winner != "b" || !slices.Equal(a.Metrics[0].Values, []float64{30}) || !slices.Equal(b.Metrics[0].Values, []float64{4}) || b.Phase != forkbox.PhaseDone {
			t.Errorf("%s: %s\n%+v %+v", name, summary(rec), a.Metrics, b.Metrics)
		}
	}
}

func TestMetricsWithoutAValue(t *testing.T) {
	w := newWorld(t, map[string]script{"no": exits(2), "words": prints("no number here\n")})
	for name, c := range map[string]struct {
		metric forkbox.Metric
		why    string
	}{
		"fails": {metric("no", forkbox.Extract{}), "failed (exit 2)"},
		"words": {metric("words", forkbox.Extract{Pattern: `mean: (\d+)`}), ""},
		"file":  {metric("words", forkbox.Extract{File: "none"}), "No such file"},
	} {
		c.metric.Runs = 5
		rec := w.run(forkbox.RaceSpec{Approaches: approaches("a=x", "b=y"), Metrics: []forkbox.Metric{c.metric}})
		m := rec.Entries[0].Metrics[0]
		if m.Why == "" || !strings.Contains(m.Why, c.why) || len(m.Values) > 0 || rec.State != forkbox.RaceFinished {
			t.Errorf("%s: %+v", name, m)
		}
	}
	if n := count(w.host.log, "a: no"); n != 1 {
		t.Errorf("one that failed was run %d times", n)
	}
}

// All are measured in turn, in an order that differs from round to round, and
// only those who passed; warm-ups do not count.
func TestRounds(t *testing.T) {
	w := newWorld(t, map[string]script{"test": has("f", "good"), "good": write("f", "good"), "number": prints("1\n")})
	m := metric("number", forkbox.Extract{})
	m.Runs, m.Most, m.Warmup = 6, 6, 2
	rec := w.run(forkbox.RaceSpec{Approaches: approaches("a=good", "b=good", "c=good", "d=bad"), Checks: checks("test"), Metrics: []forkbox.Metric{m}, Seed: 5})
	var turns []string
	for _, text := range w.host.log {
		if name, ok := strings.CutSuffix(text, ": number"); ok {
			turns = append(turns, name)
		}
	}
	if len(turns) != 3*8 || len(entryOf(t, rec, "a").Metrics[0].Values) != 6 {
		t.Fatalf("%d runs, %+v", len(turns), entryOf(t, rec, "a").Metrics)
	}
	orders := map[string]bool{}
	for round := range slices.Chunk(turns, 3) {
		orders[strings.Join(round, "")] = true
		if slices.Sort(round); strings.Join(round, "") != "abc" {
			t.Errorf("a round of %v", round)
		}
	}
	if len(orders) < 2 {
		t.Errorf("always in the order %v", orders)
	}
}

// Noise has the leaders measured again, and no others, as long as allowed.
func TestLeadersAreMeasuredAgain(t *testing.T) {
	noisy := func(base int) script {
		return func(files map[string]string, n int) (int, string) {
			return 0, fmt.Sprint(base + []int{0, 9, 3, 7, 1}[n%5])
		}
	}
	w := newWorld(t, map[string]script{
		"a": write("f", "a"), "b": write("f", "b"), "c": write("f", "c"),
		"number": func(files map[string]string, n int) (int, string) {
			base := map[string]int{"a": 100, "b": 101, "c": 1000}[files["f"]]
			return noisy(base)(files, n)
		},
	})
	m := metric("number", forkbox.Extract{})
	m.Runs, m.Most = 5, 12
	rec := w.run(forkbox.RaceSpec{Approaches: approaches("a=a", "b=b", "c=c"), Metrics: []forkbox.Metric{m}})
	values := func(name string) int { return len(entryOf(t, rec, name).Metrics[0].Values) }
	if values("a") != 12 || values("b") != 12 || values("c") == 12 {
		t.Errorf("%d, %d and %d values", values("a"), values("b"), values("c"))
	}
	m.Budget = 1 // a nanosecond
	rec = w.run(forkbox.RaceSpec{Approaches: approaches("a=a", "b=b", "c=c"), Metrics: []forkbox.Metric{m}})
	if values("a") != 5 {
		t.Errorf("%d values without a budget", values("a"))
	}
}

func TestScoredChecks(t *testing.T) {
	w := newWorld(t, map[string]script{"half": write("f", "50"), "most": write("f", "90"), "score": func(files map[string]string, _ int) (int, string) {
		return 0, "score: " + files["f"] + "\n"
	}})
	spec := forkbox.RaceSpec{Approaches: approaches("a=half", "b=most", "c=nothing"), Checks: checks("score")}
	spec.Checks[0].Must, spec.Checks[0].Of, spec.Checks[0].Score = false, 100, &forkbox.Extract{Pattern: `score: (\d+)`}
	rec := w.run(spec)
	if rec.Winner != "b" || entryOf(t, rec, "a").Score != 0.5 || entryOf(t, rec, "b").Score != 0.9 || entryOf(t, rec, "c").Score != 0 || entryOf(t, rec, "c").Checks[0].Why == "" {
		t.Errorf("%s\n%+v", summary(rec), rec.Entries)
	}
}

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
