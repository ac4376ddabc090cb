package rank

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/forkbox/forkbox"
)

// times are n measurements around a middle, none twice.
func times(middle float64, n int) (values []float64) {
	for i := range n {
		values = append(values, middle*(1+0.001*float64(i-n/2))+1e-7*middle)
	}
	return values
}

func timed(name string, values ...float64) forkbox.Entry {
	e := passed(name)
	e.Metrics = []forkbox.Measured{{Name: "build", Unit: "s", Values: values}}
	Summarize(&e.Metrics[0])
	return e
}

func passed(name string) forkbox.Entry {
	return forkbox.Entry{Name: name, Outcome: forkbox.OutcomePassed, Score: 1, Checks: []forkbox.Checked{checked("npm test", "p")}}
}

func failed(name string) forkbox.Entry {
	e := forkbox.Entry{Name: name, Checks: []forkbox.Checked{checked("npm test", "fff")}}
	e.Outcome, e.Score, e.Why = Judge(e.Checks)
	return e
}

func ended(name string, o forkbox.Outcome, why string) forkbox.Entry {
	return forkbox.Entry{Name: name, Outcome: o, Why: why}
}

func with(e forkbox.Entry, change func(*forkbox.Entry)) forkbox.Entry {
	change(&e)
	return e
}

func diff(plus, minus, files int) func(*forkbox.Entry) {
	return func(e *forkbox.Entry) { e.Diff = forkbox.DiffSize{Plus: plus, Minus: minus, Files: files} }
}

// race lists entries as they come.
func race(entries []forkbox.Entry, more ...func(*forkbox.RaceSpec)) forkbox.RaceSpec {
	spec := forkbox.RaceSpec{Checks: []forkbox.RaceCheck{{Command: forkbox.Command{Run: "npm test"}, Must: true}}}
	for _, e := range entries {
		spec.Approaches = append(spec.Approaches, forkbox.Approach{Name: e.Name})
	}
	for _, m := range more {
		m(&spec)
	}
	return spec
}

func build(s *forkbox.RaceSpec) {
	s.Metrics = []forkbox.Metric{{Command: forkbox.Command{Name: "build", Run: "make"}, Time: true}}
}

func number(name string, higher bool) func(*forkbox.RaceSpec) {
	return func(s *forkbox.RaceSpec) {
		s.Metrics = []forkbox.Metric{{Command: forkbox.Command{Name: name, Run: "x"}, Higher: higher, Unit: "ms"}}
	}
}

func breaks(list ...forkbox.TieBreak) func(*forkbox.RaceSpec) {
	return func(s *forkbox.RaceSpec) { s.TieBreaks = list }
}

// order is "a b=c": who shares a rank.
func order(ranked []forkbox.Entry) string {
	var b strings.Builder
	for i, e := range ranked {
		if i > 0 {
			b.WriteString(map[bool]string{true: "=", false: " "}[e.Rank == ranked[i-1].Rank])
		}
		b.WriteString(e.Name)
	}
	return b.String()
}

type decided struct {
	entries []forkbox.Entry
	spec    []func(*forkbox.RaceSpec)
	order   string
	verdict string
	reason  string // of the second
}

func TestRank(t *testing.T) {
	type es = []forkbox.Entry
	type fs = []func(*forkbox.RaceSpec)
	took := func(d time.Duration) func(*forkbox.Entry) { return func(e *forkbox.Entry) { e.Took = d } }
	score := func(v float64) func(*forkbox.Entry) { return func(e *forkbox.Entry) { e.Score = v } }
	flaky := with(passed("b"), func(e *forkbox.Entry) {
		e.Checks = []forkbox.Checked{checked("npm test", "fpp")}
		e.Outcome, e.Score, e.Why = Judge(e.Checks)
	})
	for name, c := range map[string]decided{
		"one passes": {es{failed("dep"), passed("patch"), failed("revert")}, nil, "patch dep=revert",
			"patch wins: it passes every check, dep and revert do not.", "its check npm test failed (exit 1)"},
		"outcomes": {es{ended("e", forkbox.OutcomeCancelled, ""), ended("d", forkbox.OutcomeBroken, "its step make failed (exit 2)"), failed("c"), flaky, passed("a")}, nil, "a b c d e",
			"a wins: it passes every check, b, c, d and e do not.", "its check npm test passed 2 of 3 times"},
		"flaky second": {es{flaky, passed("a")}, nil, "a b", "a wins: it passes every check each time, b does not.", "its check npm test passed 2 of 3 times"},
		"flaky first": {es{flaky, failed("c")}, nil, "b c",
			"b wins: it passed every check more often than not, c does not. But it is flaky: its check npm test passed 2 of 3 times.", "its check npm test failed (exit 1)"},
		"flaky and alone": {es{flaky}, nil, "b", "b wins: it passed every check more often than not, and was alone. But it is flaky: its check npm test passed 2 of 3 times.", ""},
		"one was late": {es{ended("a", forkbox.OutcomeTimedOut, ""), passed("b")}, nil, "b a",
			"b wins: it passes every check, and a was not done in time.", "it took longer than it may"},
		"two were late": {es{ended("a", forkbox.OutcomeTimedOut, ""), passed("b"), failed("c"), ended("d", forkbox.OutcomeTimedOut, "")}, nil, "b c a=d",
			"b wins: it passes every check, c does not, and a and d were not done in time.", "its check npm test failed (exit 1)"},
		"alone":  {es{passed("a")}, nil, "a", "a wins: it passes every check, and was alone.", ""},
		"nobody": {nil, nil, "", "nobody wins: there was nothing to try.", ""},
		"all fail": {es{failed("a"), failed("b")}, nil, "a=b", "nobody wins: npm test fails in every approach.",
			"ties with a: nothing tells them apart"},
		"all fail in their own way": {es{failed("a"), ended("b", forkbox.OutcomeTimedOut, "")}, nil, "a b",
			"nobody wins: a: its check npm test failed (exit 1); b: it took longer than it may.", "it took longer than it may"},
		"many fail": {es{ended("a", forkbox.OutcomeBroken, "x"), ended("b", forkbox.OutcomeBroken, "x"), ended("c", forkbox.OutcomeError, "y"), ended("d", forkbox.OutcomeBroken, "x"), ended("e", forkbox.OutcomeBroken, "x")},
			nil, "a=b=c=d=e", "nobody wins: a: x; b: x; c: y; and 2 more.", "ties with a: nothing tells them apart"},
		"first pass": {es{ended("a", forkbox.OutcomeCancelled, ""), passed("b")}, fs{func(s *forkbox.RaceSpec) { s.Stop = forkbox.StopFirstPass }}, "b a",
			"b wins: it passes every check, and was the first.", "it was cancelled"},
		"no checks": {es{ended("a", forkbox.OutcomeBroken, ""), passed("b")}, fs{func(s *forkbox.RaceSpec) { s.Checks = nil }}, "b a",
			"b wins: it ended well, a did not.", "a step of it failed"},
		"score": {es{with(passed("a"), score(0.75)), with(passed("b"), score(0.8))}, nil, "b a",
			"b wins: it scores 0.800, and a 0.750.", "lower score: 0.750 against 0.800"},
		"scores that rounding makes differ": {es{with(passed("a"), score(0.1+0.2)), with(passed("b"), score(0.3))}, nil, "a=b",
			"a and b tie: nothing tells them apart; a was listed first.", "ties with a: nothing tells them apart"},
		"time": {es{timed("b", times(1.31, 10)...), timed("a", times(1.10, 10)...)}, fs{build}, "a b",
			"a wins: build takes 1.10 s, 16 % less than b (p < 0.001).", "slower: build 1.31 s against 1.10 s"},
		"five of each suffice": {es{timed("b", times(1.31, 5)...), timed("a", times(1.10, 5)...)}, fs{build}, "a b",
			"a wins: build takes 1.10 s, 16 % less than b (p = 0.008).", "slower: build 1.31 s against 1.10 s"},
		"noise": {es{timed("a", times(1.11, 30)...), timed("b", times(1.1, 30)...)}, fs{build}, "a=b",
			"a and b tie: noise explains the difference in build (1.11 s and 1.10 s); a was listed first.",
			"ties with a: noise explains the difference in build (1.11 s and 1.10 s)"},
		"noise, and a smaller diff": {es{with(timed("a", times(1.1, 10)...), diff(120, 4, 2)), with(timed("b", times(1.11, 10)...), diff(3, 1, 2))}, fs{build}, "b a",
			"b wins: noise explains the difference in build (1.11 s and 1.10 s), and its diff is smaller, +3 −1 against +120 −4 of a.",
			"larger diff: +120 −4 against +3 −1"},
		"few times that differ plainly": {es{timed("a", 60, 61), timed("b", 30, 31)}, fs{build}, "b a",
			"b wins: build takes 30.5 s, 50 % less than a.", "slower: build 60.5 s against 30.5 s"},
		"few times": {es{timed("a", 1.2, 1.21), timed("b", 1.1, 1.12)}, fs{build}, "a=b",
			"a and b tie: noise explains the difference in build (1.21 s and 1.11 s); a was listed first.",
			"ties with a: noise explains the difference in build (1.21 s and 1.11 s)"},
		"one time each": {es{timed("a", 0.3), timed("b", 0.11)}, fs{build}, "a=b",
			"a and b tie: noise explains the difference in build (300 ms and 110 ms); a was listed first.",
			"ties with a: noise explains the difference in build (300 ms and 110 ms)"},
		"numbers": {es{timed("a", 12), timed("b", 10)}, fs{number("p99", false)}, "b a",
			"b wins: p99 is 10 ms, 17 % less than a's.", "higher: p99 12 ms against 10 ms"},
		"higher numbers": {es{timed("a", 10), timed("b", 12)}, fs{number("rate", true)}, "b a",
			"b wins: rate is 12 ms, 20 % more than a's.", "lower: rate 10 ms against 12 ms"},
		"numbers that hardly differ": {es{timed("a", 1.00001), timed("b", 1)}, fs{number("p99", false)}, "b a",
			"b wins: p99 is 1.00000 ms, 0.001 % less than a's.", "higher: p99 1.00001 ms against 1.00000 ms"},
		"nothing of it": {es{timed("a", 5), timed("b", 0)}, fs{number("p99", false)}, "b a",
			"b wins: p99 is 0 ms, 100 % less than a's.", "higher: p99 5 ms against 0 ms"},
		"from nothing": {es{timed("a", 0), timed("b", 5)}, fs{number("rate", true)}, "b a",
			"b wins: rate is 5 ms, against 0 ms of a.", "lower: rate 0 ms against 5 ms"},
		"the same each time": {es{timed("a", 12, 12, 12), timed("b", 10, 10, 10)}, fs{number("size", false)}, "b a",
			"b wins: size is 10 ms, 17 % less than a's.", "higher: size 12 ms against 10 ms"},
		"one against many, outside": {es{timed("a", 12), timed("b", 10, 11, 10.5)}, fs{number("size", false)}, "b a",
			"b wins: size is 10.5 ms, 12 % less than a's.", "higher: size 12.0 ms against 10.5 ms"},
		"one against many, inside": {es{timed("a", 10.8), timed("b", 10, 11, 10.5)}, fs{number("size", false)}, "a=b",
			"a and b tie: noise explains the difference in size (10.8 ms and 10.5 ms); a was listed first.",
			"ties with a: noise explains the difference in size (10.8 ms and 10.5 ms)"},
		"no value": {es{passed("a"), timed("b", 10)}, fs{number("size", false)}, "b a",
			"b wins: a has no value for size.", "no value for size"},
		"why there is no value": {es{with(timed("a"), func(e *forkbox.Entry) { e.Metrics[0].Name, e.Metrics[0].Why = "", "the text is\nempty" }), timed("b", 10)}, fs{number("size", false)}, "b a",
			"b wins: a has no value for size: the text is empty.", "no value for size: the text is empty"},
		"tolerance": {es{timed("a", 100), timed("b", 99)}, fs{number("size", false), func(s *forkbox.RaceSpec) { s.Metrics[0].Tolerance = 0.02 }}, "a=b",
			"a and b tie: the difference in size is within its tolerance (100 ms and 99 ms); a was listed first.",
			"ties with a: the difference in size is within its tolerance (100 ms and 99 ms)"},
		"diff":  {es{with(passed("a"), diff(120, 4, 1)), with(passed("b"), diff(3, 1, 5))}, nil, "b a", "b wins: its diff is smaller, +3 −1 against +120 −4 of a.", "larger diff: +120 −4 against +3 −1"},
		"files": {es{with(passed("a"), diff(1, 3, 5)), with(passed("b"), diff(2, 2, 1))}, nil, "b a", "b wins: it changes fewer files, 1 against 5 of a.", "more files changed: 5 against 1"},
		"no tie-break": {es{with(passed("a"), diff(120, 4, 1)), with(passed("b"), diff(3, 1, 5))}, fs{breaks(forkbox.NoTieBreak)}, "a=b",
			"a and b tie: nothing tells them apart; a was listed first.", "ties with a: nothing tells them apart"},
		"faster": {es{with(passed("a"), took(3*time.Second)), with(passed("b"), took(2*time.Second))}, fs{breaks(forkbox.Faster)}, "b a",
			"b wins: its steps took 2.00 s, those of a 3.00 s.", "slower: its steps took 3.00 s against 2.00 s"},
		"hardly faster":      {es{with(passed("a"), took(110*time.Second)), with(passed("b"), took(100*time.Second))}, fs{breaks(forkbox.Faster)}, "a=b", "a and b tie: nothing tells them apart; a was listed first.", "ties with a: nothing tells them apart"},
		"faster by a moment": {es{with(passed("a"), took(250*time.Millisecond)), with(passed("b"), took(60*time.Millisecond))}, fs{breaks(forkbox.Faster)}, "a=b", "a and b tie: nothing tells them apart; a was listed first.", "ties with a: nothing tells them apart"},
		"who failed has a diff as well": {es{with(failed("a"), diff(9, 0, 1)), passed("c"), with(failed("b"), diff(1, 0, 1))}, nil, "c b a",
			"c wins: it passes every check, b and a do not.", "its check npm test failed (exit 1)"},
	} {
		t.Run(name, func(t *testing.T) { c.check(t) })
	}
}

func (c decided) check(t *testing.T) {
	ranked, winner, verdict := Rank(race(c.entries, c.spec...), c.entries)
	if got := order(ranked); got != c.order {
		t.Errorf("the order is %q, not %q", got, c.order)
	}
	if verdict != c.verdict {
		t.Errorf("the verdict is\n%s, not\n%s", verdict, c.verdict)
	}
	if len(ranked) > 1 && ranked[1].Reason != c.reason {
		t.Errorf("the reason of the second is\n%s, not\n%s", ranked[1].Reason, c.reason)
	}
	if wins := !strings.HasPrefix(c.verdict, "nobody"); wins != (winner != "") || wins && winner != ranked[0].Name {
		t.Errorf("the winner is %q", winner)
	}
}

// TestNoisyThird: who varies so much that nothing can be said of them ties with
// the best, and the reason of the others is against the best, not against them.
func TestNoisyThird(t *testing.T) {
	wild := []float64{0.5, 9, 0.6, 8, 0.7, 7, 0.8, 6, 0.9, 5}
	entries := []forkbox.Entry{timed("best", times(1, 10)...), timed("second", times(1.2, 10)...), timed("wild", wild...)}
	ranked, _, _ := Rank(race(entries, build), entries)
	if order(ranked) != "best=wild second" || ranked[2].Reason != "slower: build 1.20 s against 1.00 s" {
		t.Errorf("%s: %+v", order(ranked), ranked)
	}
}

func TestSummarize(t *testing.T) {
	for _, c := range []struct {
		values            []float64
		median, low, high float64
	}{
		{nil, 0, 0, 0}, {[]float64{3}, 3, 3, 3}, {[]float64{4, 1}, 2.5, 1.75, 3.25}, {[]float64{5, 1, 3, 2, 4}, 3, 2, 4},
	} {
		m := forkbox.Measured{Values: slices.Clone(c.values), Median: 9, Low: 9, High: 9}
		if Summarize(&m); m.Median != c.median || m.Low != c.low || m.High != c.high || !slices.Equal(m.Values, c.values) {
			t.Errorf("%v: %+v", c.values, m)
		}
	}
}

func TestFigures(t *testing.T) {
	for _, c := range []struct {
		v    float64
		unit string
		want string
	}{
		{1.1, "s", "1.10 s"}, {0.25, "s", "250 ms"}, {0.0123, "s", "12.3 ms"}, {0.00001, "s", "10.0 µs"}, {123.4, "s", "123 s"}, {12345, "s", "12345 s"},
		{0, "s", "0.00 s"}, {0.99999, "s", "1.00 s"}, {1200.5, "", "1200"}, {1000, "", "1000"}, {0.5, "MB", "0.500 MB"}, {1e20, "", "1e+20"}, {1e-9, "", "1e-09"}, {-2.5, "", "-2.50"},
	} {
		if got := figure(c.v, c.unit, 3); got != c.want {
			t.Errorf("%v %s: %q, not %q", c.v, c.unit, got, c.want)
		}
	}
	if a, b := figures(1.1001, 1.1002, "s"); a != "1.1001 s" || b != "1.1002 s" {
		t.Error(a, b)
	}
}

// TestOneWithARiskDoesNotWinATie: however small its diff, and wherever it is
// listed.
func TestOneWithARiskDoesNotWinATie(t *testing.T) {
	entry := func(name string, lines int, risks ...forkbox.Caution) forkbox.Entry {
		return forkbox.Entry{Name: name, Box: name, Outcome: forkbox.OutcomePassed, Score: 1, Diff: forkbox.DiffSize{Files: 1, Plus: lines}, Risks: risks}
	}
	spec := forkbox.RaceSpec{Approaches: []forkbox.Approach{{Name: "cheat"}, {Name: "honest"}}}
	cheat := entry("cheat", 1, forkbox.Caution{Path: "/w/check.sh", Why: "changes a test"})
	ranked, winner, verdict := Rank(spec, []forkbox.Entry{cheat, entry("honest", 50)})
	if winner != "honest" || !strings.Contains(ranked[1].Reason, "it deserves a second look: changes a test /w/check.sh") {
		t.Errorf("%s: %s, %+v", winner, verdict, ranked)
	}
}
