package race

import (
	"fmt"
	"slices"
	"strings"
	"testing"

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

// Noise has the leaders measured again, and nobody else, as long as allowed.
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
