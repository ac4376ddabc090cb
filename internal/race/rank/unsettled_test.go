package rank

import (
	"slices"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

func TestUnsettled(t *testing.T) {
	type es = []forkbox.Entry
	two := func(s *forkbox.RaceSpec) {
		build(s)
		s.Metrics = append(s.Metrics, forkbox.Metric{Command: forkbox.Command{Name: "size", Run: "x"}, Runs: 5})
	}
	sized := func(e forkbox.Entry, values ...float64) forkbox.Entry {
		e.Metrics = append(e.Metrics, forkbox.Measured{Values: values})
		return e
	}
	for name, c := range map[string]struct {
		entries es
		spec    func(*forkbox.RaceSpec)
		want    []Need
	}{
		"clear":                  {es{timed("a", times(1, 10)...), timed("b", times(2, 10)...)}, build, nil},
		"noise":                  {es{timed("a", times(1, 10)...), timed("b", times(1.001, 10)...)}, build, []Need{{0, "a"}, {0, "b"}}},
		"as often as may be":     {es{timed("a", times(1, 30)...), timed("b", times(1.001, 30)...)}, build, nil},
		"one of them":            {es{timed("a", times(1, 30)...), timed("b", times(1.001, 29)...)}, build, []Need{{0, "b"}}},
		"not clear enough ahead": {es{timed("a", times(1, 5)...), timed("b", times(2, 5)...)}, build, []Need{{0, "a"}, {0, "b"}}},
		"clear enough ahead":     {es{timed("a", times(1, 7)...), timed("b", times(2, 7)...)}, build, nil},
		"few":                    {es{timed("a", 1), timed("b", 9)}, build, []Need{{0, "a"}, {0, "b"}}},
		"only leaders":           {es{timed("a", times(1, 10)...), timed("c", times(3, 10)...), timed("b", times(1.001, 10)...), timed("d", times(3.001, 10)...)}, build, []Need{{0, "a"}, {0, "b"}}},
		"who failed":             {es{timed("a", times(1, 10)...), with(timed("b", times(1, 10)...), func(e *forkbox.Entry) { e.Outcome = forkbox.OutcomeFailed })}, build, nil},
		"who is flaky":           {es{timed("a", times(1, 10)...), with(timed("b", times(1, 10)...), func(e *forkbox.Entry) { e.Outcome = forkbox.OutcomeFlaky })}, build, nil},
		"no values yet":          {es{passed("a"), passed("b")}, build, nil},
		"no metrics":             {es{passed("a"), passed("b")}, func(*forkbox.RaceSpec) {}, nil},
		"a number":               {es{timed("a", 1), timed("b", 2)}, number("size", false), nil},
		"the same number":        {es{timed("a", 1), timed("b", 1)}, number("size", false), nil},
		"the next metric too": {es{sized(timed("a", times(1, 10)...), times(5, 5)...), sized(timed("b", times(1.001, 10)...), times(5.01, 5)...)}, two,
			[]Need{{0, "a"}, {0, "b"}, {1, "a"}, {1, "b"}}},
		"the next metric only": {es{sized(timed("a", times(1, 30)...), times(5, 5)...), sized(timed("b", times(1.001, 30)...), times(5.01, 5)...)}, two,
			[]Need{{1, "a"}, {1, "b"}}},
		"the next metric is steady": {es{sized(timed("a", times(1, 30)...), 5, 5, 5), sized(timed("b", times(1.001, 30)...), 5, 5, 5)}, two, nil},
	} {
		if got := Unsettled(race(c.entries, c.spec), c.entries); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, not %v", name, got, c.want)
		}
	}
}

func TestPlan(t *testing.T) {
	for _, c := range []struct {
		m          forkbox.Metric
		runs, most int
		budget     time.Duration
	}{
		{forkbox.Metric{}, 1, 1, time.Minute},
		{forkbox.Metric{Time: true}, 10, 30, time.Minute},
		{forkbox.Metric{Runs: 4}, 4, 12, time.Minute},
		{forkbox.Metric{Runs: 900}, 900, forkbox.MostRuns, time.Minute},
		{forkbox.Metric{Time: true, Most: 5, Budget: time.Second}, 5, 5, time.Second},
		{forkbox.Metric{Most: 5}, 1, 5, time.Minute},
	} {
		if runs, most, budget := Plan(c.m); runs != c.runs || most != c.most || budget != c.budget {
			t.Errorf("%+v: %d, %d, %s", c.m, runs, most, budget)
		}
	}
}
